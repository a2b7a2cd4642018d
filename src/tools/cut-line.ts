/** Truncates text to one short line for display, between words where possible and never inside a character. */

// The locale is fixed so that the same line is cut at the same position on every machine.
const graphemes = new Intl.Segmenter("en", { granularity: "grapheme" });
const words = new Intl.Segmenter("en", { granularity: "word" });
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
  const maxLookedAt = MAX_UNITS * maxCharacters;
  const characters = [...graphemes.segment(line.slice(0, maxLookedAt))].map(({ segment }) => segment);
  if (characters.length <= maxCharacters && line.length <= maxLookedAt) return line;
  const head = characters.slice(0, maxCharacters - 1).join("");
  return `${cutAtWord(line, head, maxCharacters)}…`;
}

/** Returns the complete words of `head`, or all of `head` if it is a single word. */
function cutAtWord(line: string, head: string, maxCharacters: number): string {
  let end = 0;
  for (const { index, segment } of words.segment(line.slice(0, head.length + maxCharacters))) {
    if (index + segment.length > head.length) break;
    end = index + segment.length;
  }
  const cut = line.slice(0, end).trimEnd();
  return cut === "" ? head : cut;
}
