/**
 * Fits text to a terminal: removes unsafe characters, and cuts or wraps by display columns. Widths follow Unicode East
 * Asian Width closely enough that no line exceeds the requested width.
 */
import { stripVTControlCharacters } from "node:util";

// Control characters move the cursor, bidirectional marks reorder text, separators break the line.
const UNSAFE = /[\p{Cc}\p{Zl}\p{Zp}\u061C\u200E\u200F\u202A-\u202E\u2066-\u2069]/gu;
const SIMPLE = /^[\x20-\x7E]*$/;
const INVISIBLE = /[\p{Mn}\p{Me}\p{Cf}]/u;
const WIDE =
  /[\p{Emoji_Presentation}\u1100-\u115F\u2329\u232A\u2630-\u2637\u268A-\u268F\u2E80-\u303E\u3041-\uA4CF\uA960-\uA97C\uAC00-\uD7A3\uF900-\uFAFF\uFE10-\uFE19\uFE30-\uFE6F\uFF00-\uFF60\uFFE0-\uFFE6\u{16FE0}-\u{18DFF}\u{1AFF0}-\u{1B2FF}\u{1D300}-\u{1D376}\u{1F200}-\u{1F265}\u{20000}-\u{3FFFD}]/u;

/** Replaces characters that could change the terminal. */
export function cleanText(text: string): string {
  return text.replaceAll("\t", " ").replaceAll(UNSAFE, "\uFFFD");
}

/** Escapes characters in JSON that could change the terminal; the parsed value is the same. */
export function escapeJson(text: string): string {
  return text.replaceAll(UNSAFE, (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`);
}

/** Formats a value as one line of JSON that cannot change the terminal. */
export function formatJson(value: unknown): string {
  return `${escapeJson(JSON.stringify(value))}\n`;
}

/** Cleans text and cuts it to `width` columns; cut text ends with `…`. */
export function cutColumns(text: string, width: number): string {
  // Bounds the work for text with many characters of zero width.
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

export function formatDuration(ms: number): string {
  return ms < 1000 ? `${Math.round(ms)} ms` : `${(ms / 1000).toFixed(1)} s`;
}

export function plural(count: number, noun: string): string {
  return `${count} ${noun}${count === 1 ? "" : "s"}`;
}

/**
 * Wraps text at spaces into lines of at most `width` columns; `indent` starts every line but the first. ANSI styles
 * take no columns.
 */
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

/**
 * The most columns that text takes; ANSI styles take none. Terminals show a sequence, such as an emoji with a skin tone, as one
 * character or as several.
 */
export function measureColumns(text: string): number {
  if (SIMPLE.test(text)) return text.length;
  let columns = 0;
  for (const character of stripVTControlCharacters(text)) columns += columnsOf(character);
  return columns;
}

/** Adds spaces up to `width` columns. */
export function padColumns(text: string, width: number): string {
  return text + " ".repeat(Math.max(0, width - measureColumns(text)));
}

function columnsOf(character: string): 0 | 1 | 2 {
  // The variation selector of emojis makes a narrow character wide.
  if (character < "\u0300" || character === "\uFE0F") return 1;
  if (INVISIBLE.test(character)) return 0;
  return WIDE.test(character) ? 2 : 1;
}
