/** Describes errors for models and users: the message, without the stack, limited in length. */

const MAX_LENGTH = 2000;
/** Some errors include their stack in the message. */
const STACK_LINE = /^\s+at .*$/;

export function describeFailure(error: unknown): string {
  const shown = dropStack(readMessage(error).slice(0, 10 * MAX_LENGTH)).trim();
  return shorten(shown === "" ? "unknown error" : shown, MAX_LENGTH);
}

/** Removes the lines of a stack trace. */
export function dropStack(text: string): string {
  return text
    .split("\n")
    .filter((line) => !STACK_LINE.test(line))
    .join("\n");
}

/** Truncates a text, with an ellipsis. */
export function shorten(text: string, length: number): string {
  return text.length <= length ? text.toWellFormed() : `${text.slice(0, length).toWellFormed()}…`;
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
