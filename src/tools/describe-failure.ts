/**
 * What an error says, for a model and for people: its message, never its stack, and not without end.
 */

const MAX_LENGTH = 2000;
/** Some put their stack into the message. */
const STACK_LINE = /^\s+at .*$/;

export function describeFailure(error: unknown): string {
  const shown = dropStack(readMessage(error).slice(0, 10 * MAX_LENGTH)).trim();
  return shorten(shown === "" ? "an error without words" : shown, MAX_LENGTH);
}

/** The text without its lines of a stack. */
export function dropStack(text: string): string {
  return text
    .split("\n")
    .filter((line) => !STACK_LINE.test(line))
    .join("\n");
}

/** The text, or its beginning and a sign that there is more. */
export function shorten(text: string, length: number): string {
  return text.length <= length ? text.toWellFormed() : `${text.slice(0, length).toWellFormed()}…`;
}

/** Of an object that is no error only its message: what else is in it may be nobody's business. */
function readMessage(error: unknown): string {
  try {
    if (typeof error !== "object" || error === null) return String(error);
    const { message } = error as { readonly message?: unknown };
    return typeof message === "string" ? message : "";
  } catch {
    return "";
  }
}
