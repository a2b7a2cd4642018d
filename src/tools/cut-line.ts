/** Truncates text to one short line for display, between words where possible and never inside a character. */

// The locale is fixed so that the same line is cut at the same position on every machine.
/** Created on first use, because each takes several milliseconds. */
let graphemes: Intl.Segmenter | undefined;
let words: Intl.Segmenter | undefined;
/** Code units examined per visible character. One visible character can have several. */
const MAX_UNITS = 8;

/**
 * Collapses whitespace and control characters into single spaces. Drops text beyond what `cutLine` examines for the
 * same limit.
 */
export function toPlainLine(text: string, maxCharacters: number): string {
  return text
    .slice(0, 2 * MAX_UNITS * maxCharacters)
    .toWellFormed()
    .replaceAll(/[\s\p{Cc}]+/gu, " ")
    .trim();
}

/** Truncates a line to `maxCharacters` visible characters, including the ellipsis. */
export function cutLine(line: string, maxCharacters: number): string {
  if (line.length <= maxCharacters) return line;
  const head = cutCharacters(line, maxCharacters);
  return head === undefined ? line : `${cutAtWord(line, head, maxCharacters)}…`;
}

/** Returns one visible character less than the limit, or undefined if the line is within the limit. */
function cutCharacters(line: string, maxCharacters: number): string | undefined {
  // Segmenting is slow, and each of these is one visible character.
  if (isPrintableAscii(line.slice(0, maxCharacters + 1))) return line.slice(0, maxCharacters - 1);
  const maxLookedAt = MAX_UNITS * maxCharacters;
  let count = 0;
  let end = 0;
  graphemes ??= new Intl.Segmenter("en", { granularity: "grapheme" });
  for (const { index } of graphemes.segment(line.slice(0, maxLookedAt))) {
    if (count === maxCharacters - 1) end = index;
    if (++count > maxCharacters) return line.slice(0, end);
  }
  if (line.length <= maxLookedAt) return undefined;
  return line.slice(0, count < maxCharacters ? maxLookedAt : end);
}

function isPrintableAscii(text: string): boolean {
  return /^[ -~]*$/.test(text);
}

/** Returns the complete words of `head`, or all of `head` if it is a single word. */
function cutAtWord(line: string, head: string, maxCharacters: number): string {
  words ??= new Intl.Segmenter("en", { granularity: "word" });
  const next = words.segment(line.slice(0, head.length + maxCharacters)).containing(head.length);
  const cut = line.slice(0, next?.index ?? head.length).trimEnd();
  return cut === "" ? head : cut;
}
