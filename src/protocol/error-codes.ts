/**
 * The codes of our own errors, and the class of 003 each belongs to. One place, so that every dialect tells the same.
 */
export type ErrorType = "validation" | "execution" | "timeout" | "system";

export const ERROR_CODES = {
  invalid_event: "validation",
  invalid_arguments: "validation",
  frame_too_long: "validation",
  tool_failed: "execution",
  tool_rejected: "execution",
  tool_timeout: "timeout",
  model_failed: "execution",
  model_timeout: "timeout",
  model_stream_cut: "execution",
  iteration_limit: "execution",
  approval_expired: "timeout",
  interrupted: "system",
  store_failed: "system",
} as const satisfies { readonly [code: string]: ErrorType };

/** The class an error is shown under where the error itself does not say. */
export function errorTypeOf(error: {
  readonly error_type?: ErrorType;
  readonly code?: string;
  readonly stage?: string;
}): ErrorType {
  if (error.error_type !== undefined) return error.error_type;
  const { code, stage } = error;
  if (code !== undefined && Object.hasOwn(ERROR_CODES, code)) return ERROR_CODES[code as keyof typeof ERROR_CODES];
  return stage === undefined ? "system" : "execution";
}
