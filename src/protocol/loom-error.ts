/**
 * The only error that is sent to users: a code from a fixed set, a message, and details for programs. It never contains
 * a stack trace or a secret. Other errors are logged under an ID and not sent.
 */
import type { ErrorCode } from "./error-codes.ts";
import type { JsonObject } from "./json.ts";

/** An error with a stable `code`, a message for the user and `details` for programs. */
export class LoomError extends Error {
  override readonly name = "LoomError";
  readonly code: ErrorCode;
  readonly details: JsonObject;

  constructor(code: ErrorCode, message: string, details: JsonObject = {}, options?: ErrorOptions) {
    super(message, options);
    this.code = code;
    this.details = details;
  }
}

/** True if `error` is a `LoomError` with one of these codes, or with any code if none is given. */
export function isLoomError(error: unknown, ...codes: readonly ErrorCode[]): error is LoomError {
  // Not `instanceof`: an agent may come from another copy of this package.
  if (!(error instanceof Error) || error.name !== "LoomError") return false;
  return codes.length === 0 || codes.includes((error as LoomError).code);
}

/** A `LoomError` as plain data, to be sent between threads. */
export interface PlainError {
  readonly code: ErrorCode;
  readonly message: string;
  readonly details: JsonObject;
}

export function toPlainError({ code, message, details }: LoomError): PlainError {
  return { code, message, details };
}

export function fromPlainError({ code, message, details }: PlainError): LoomError {
  return new LoomError(code, message, details);
}
