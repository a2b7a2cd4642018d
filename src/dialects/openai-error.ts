/**
 * Failures of runs as errors of the OpenAI APIs. A failure of the model's provider keeps its meaning: the status, the type
 * and the code that the provider's own error has there.
 */
import type { Json } from "../protocol/index.ts";

/** HTTP status of failures whose code tells it. A missing key is a key that the provider would refuse. */
const STATUSES: { readonly [code: string]: number } = {
  model_unauthorized: 401,
  missing_key: 401,
  model_not_found: 404,
  model_rate_limited: 429,
  model_unavailable: 503,
};

const TYPES: { readonly [status: number]: string } = {
  401: "authentication_error",
  403: "permission_error",
  429: "rate_limit_error",
};

const LIMITED = "model_rate_limited";
/** The code that clients compare. */
const OPENAI_LIMITED = "rate_limit_exceeded";

/** The `type` of an error with this HTTP status. */
export function openaiErrorType(status: number): string {
  return TYPES[status] ?? (status >= 500 ? "server_error" : "invalid_request_error");
}

export function toOpenaiErrorCode(code: string): string {
  return code === LIMITED ? OPENAI_LIMITED : code;
}

/** The inverse of `toOpenaiErrorCode`. */
export function fromOpenaiErrorCode(code: string): string {
  return code === OPENAI_LIMITED ? LIMITED : code;
}

/**
 * Returns the HTTP status of a failed run; undefined if the model's provider is not the cause. `responded` is the status
 * with which the provider responded, if the run noted it.
 */
export function statusOfFailure(code: string | undefined, responded: Json | undefined): number | undefined {
  if (code === undefined) return undefined;
  const isRefused = typeof responded === "number" && responded >= 400 && responded < 500;
  return STATUSES[code] ?? (code === "model_failed" && isRefused ? responded : undefined);
}
