/**
 * Text that fits a terminal: without the characters that would repaint it, cut or wrapped by the columns it takes.
 * The widths follow the East Asian Width of Unicode closely enough that a line is never longer than it was asked to be.
 */
import { stripVTControlCharacters } from "node:util";

// Control characters move the cursor, bidirectional marks reorder what stands around them, separators break the line.
const UNSAFE = /[\p{Cc}\p{Zl}\p{Zp}\u061C\u200E\u200F\u202A-\u202E\u2066-\u2069]/gu;
const INVISIBLE = /[\p{Mn}\p{Me}\p{Cf}]/u;
const WIDE =
  /[\p{Emoji_Presentation}\u1100-\u115F\u2E80-\u303E\u3041-\uA4CF\uA960-\uA97C\uAC00-\uD7A3\uF900-\uFAFF\uFE30-\uFE6F\uFF00-\uFF60\uFFE0-\uFFE6\u{16FE0}-\u{18DFF}\u{1AFF0}-\u{1B2FF}\u{1F200}-\u{1F265}\u{20000}-\u{3FFFD}]/u;

/** Text of others, made harmless: a stream must not be able to repaint the terminal. */
export function cleanText(text: string): string {
  return text.replaceAll("\t", " ").replaceAll(UNSAFE, "\uFFFD");
}

/** JSON whose harmful characters are written as escapes: it still means the same. */
export function escapeJson(text: string): string {
  return text.replaceAll(UNSAFE, (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`);
}

/** One harmless line of at most `width` columns; what is cut off leaves a `…`. */
export function cutText(text: string, width: number): string {
  // Invisible characters take no column, so the columns alone would not bound what is looked at.
  const start = cleanText(text.slice(0, 4 * width));
  let used = 0;
  let kept = "";
  for (const character of start) {
    used += columnsOf(character);
    if (used > width) return `${kept}…`;
    if (used < width) kept += character;
  }
  return text.length > 4 * width ? `${kept}…` : start;
}

/** `1 frame`, `2 frames`. */
export function plural(count: number, noun: string): string {
  return `${count} ${noun}${count === 1 ? "" : "s"}`;
}

/** Breaks text, coloured or not, at its spaces into lines of at most `width` columns, with `indent` before all but one. */
export function wrapText(text: string, width: number, indent: string): string {
  let wrapped = "";
  let used = 0;
  for (const word of text.split(" ")) {
    const columns = measureColumns(word);
    if (used > 0) {
      const fits = used + 1 + columns <= width;
      wrapped += fits ? " " : `\n${indent}`;
      used = fits ? used + 1 : 0;
    }
    wrapped += word;
    used += columns;
  }
  return wrapped;
}

/** Columns that text takes, coloured or not. */
export function measureColumns(text: string): number {
  let columns = 0;
  for (const character of stripVTControlCharacters(text)) columns += columnsOf(character);
  return columns;
}

function columnsOf(character: string): 0 | 1 | 2 {
  if (character < "\u0300") return 1;
  if (INVISIBLE.test(character)) return 0;
  return WIDE.test(character) ? 2 : 1;
}
