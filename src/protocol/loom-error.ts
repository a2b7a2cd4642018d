/**
 * The one error that may cross a wire: a code from a closed set, words for people, and details a program can use. It
 * never carries a stack or a secret to a user; whatever else is thrown stays inside and is logged under an id.
 */
import type { ErrorCode } from "./error-codes.ts";
import type { JsonObject } from "./json.ts";

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

/** True for an error of ours with one of these codes; any code when none is named. */
export function isLoomError(error: unknown, ...codes: readonly ErrorCode[]): error is LoomError {
  return error instanceof LoomError && (codes.length === 0 || codes.includes(error.code));
}
