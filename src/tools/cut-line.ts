/**
 * A line for people that is not too long: cut between words where it is, never within a character. It knows nothing of
 * what the line says.
 */

// The language is fixed: the same line is cut at the same place on every machine.
const graphemes = new Intl.Segmenter("en", { granularity: "grapheme" });
const words = new Intl.Segmenter("en", { granularity: "word" });
/** Units of text for each character: what a reader sees as one may be many, but not that many. */
const MAX_UNITS = 8;

/** On one line, whole, and no more of it than is looked at when it is cut. */
export function toPlainLine(text: string, maxCharacters: number): string {
  return text
    .slice(0, 2 * MAX_UNITS * maxCharacters)
    .toWellFormed()
    .replaceAll(/[\s\p{Cc}]+/gu, " ")
    .trim();
}

/** Characters are those a reader counts; the sign that something is missing is one of them. */
export function cutLine(line: string, maxCharacters: number): string {
  if (line.length <= maxCharacters) return line;
  const maxLookedAt = MAX_UNITS * maxCharacters;
  const characters = [...graphemes.segment(line.slice(0, maxLookedAt))].map(({ segment }) => segment);
  if (characters.length <= maxCharacters && line.length <= maxLookedAt) return line;
  const head = characters.slice(0, maxCharacters - 1).join("");
  return `${cutAtWord(line, head, maxCharacters)}…`;
}

/** The words of `head` that are whole in `line`; all of it where it is a single word. */
function cutAtWord(line: string, head: string, maxCharacters: number): string {
  let end = 0;
  for (const { index, segment } of words.segment(line.slice(0, head.length + maxCharacters))) {
    if (index + segment.length > head.length) break;
    end = index + segment.length;
  }
  const cut = line.slice(0, end).trimEnd();
  return cut === "" ? head : cut;
}
