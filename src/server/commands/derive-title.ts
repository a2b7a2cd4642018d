/**
 * Derives the title of a session from its first message: the first line with text, cut at a word boundary if it is too
 * long.
 */
import { cutLine, toPlainLine } from "../../tools/cut-line.ts";

export const MAX_TITLE_CHARACTERS = 80;

/** Returns undefined for a message without text. The limit counts graphemes, so no visible character is split. */
export function deriveTitle(message: string): string | undefined {
  for (const [line] of message.matchAll(/[^\r\n\u2028\u2029]+/gu)) {
    const plain = toPlainLine(line, MAX_TITLE_CHARACTERS);
    if (plain !== "") return cutLine(plain, MAX_TITLE_CHARACTERS);
  }
  return undefined;
}
