/**
 * What an error says, for a model and for people: its message, never its stack, and not without end.
 */

const MAX_LENGTH = 2000;
/** Some put their stack into the message. */
const STACK_LINE = /^\s+at .*$/;

export function describeFailure(error: unknown): string {
  const lines = readMessage(error)
    .slice(0, 10 * MAX_LENGTH)
    .split("\n");
  const shown = lines
    .filter((line) => !STACK_LINE.test(line))
    .join("\n")
    .trim();
  return shorten(shown === "" ? "an error without words" : shown, MAX_LENGTH);
}

/** The text, or its beginning and a sign that there is more. */
export function shorten(text: string, length: number): string {
  return text.length <= length ? text.toWellFormed() : `${text.slice(0, length).toWellFormed()}…`;
}

function readMessage(error: unknown): string {
  try {
    return String(error instanceof Error ? error.message : error);
  } catch {
    return "";
  }
}
