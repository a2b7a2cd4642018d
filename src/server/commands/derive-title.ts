/**
 * A title for a session, from its first message: the first line that says something, cut between words where it is too
 * long. It knows no session.
 */
import { cutLine, toPlainLine } from "../../tools/cut-line.ts";

export const MAX_TITLE_CHARACTERS = 80;

/** Undefined where the message says nothing. Characters are those a reader counts, so none is cut in two. */
export function deriveTitle(message: string): string | undefined {
  for (const [line] of message.matchAll(/[^\r\n\u2028\u2029]+/gu)) {
    const plain = toPlainLine(line, MAX_TITLE_CHARACTERS);
    if (plain !== "") return cutLine(plain, MAX_TITLE_CHARACTERS);
  }
  return undefined;
}
