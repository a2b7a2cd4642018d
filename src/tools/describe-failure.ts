/** Describes errors for models and users: the message, without the stack, limited in length. */
import { shorten } from "../protocol/cut-text.ts";

const MAX_LENGTH = 2000;
/** Some errors include their stack in the message. */
const STACK_LINE = /^\s+at .*$/;

export function describeFailure(error: unknown): string {
  const shown = dropStack(readMessage(error).slice(0, 10 * MAX_LENGTH)).trim();
  return shorten(shown === "" ? "unknown error" : shown.toWellFormed(), MAX_LENGTH);
}

/** Removes the lines of a stack trace. */
export function dropStack(text: string): string {
  return text
    .split("\n")
    .filter((line) => !STACK_LINE.test(line))
    .join("\n");
}

/** Reads only the message of an object that is not an error: other fields may be confidential. */
function readMessage(error: unknown): string {
  try {
    if (typeof error !== "object" || error === null) return String(error);
    const { message } = error as { readonly message?: unknown };
    return typeof message === "string" ? message : "";
  } catch {
    return "";
  }
}
