/**
 * A title for a session, from its first message: the first line that says something, cut between words where it is too
 * long. It knows no session.
 */
export const MAX_TITLE_CHARACTERS = 80;

const graphemes = new Intl.Segmenter(undefined, { granularity: "grapheme" });
const words = new Intl.Segmenter(undefined, { granularity: "word" });
/** Of a long line no more is looked at: what a reader sees as one character may be many, but not that many. */
const MAX_LOOKED_AT = MAX_TITLE_CHARACTERS * 8;

/** Undefined where the message says nothing. Characters are those a reader counts, so none is cut in two. */
export function deriveTitle(message: string): string | undefined {
  const line = findLine(message);
  if (line === undefined) return undefined;
  const characters = [...graphemes.segment(line.slice(0, MAX_LOOKED_AT))].map(({ segment }) => segment);
  if (characters.length <= MAX_TITLE_CHARACTERS && line.length <= MAX_LOOKED_AT) return line;
  // One place is for the sign that something is missing.
  const head = characters.slice(0, MAX_TITLE_CHARACTERS - 1).join("");
  return `${cutAtWord(line, head)}…`;
}

function findLine(message: string): string | undefined {
  for (const [line] of message.matchAll(/[^\r\n\u2028\u2029]+/gu)) {
    const plain = line
      .slice(0, MAX_LOOKED_AT * 2)
      .toWellFormed()
      .replaceAll(/[\s\p{Cc}]+/gu, " ")
      .trim();
    if (plain !== "") return plain;
  }
  return undefined;
}

/** The words of `head` that are whole in `line`; all of it where it is a single word. */
function cutAtWord(line: string, head: string): string {
  let end = 0;
  for (const { index, segment } of words.segment(line.slice(0, head.length + MAX_TITLE_CHARACTERS))) {
    if (index + segment.length > head.length) break;
    end = index + segment.length;
  }
  const cut = line.slice(0, end).trimEnd();
  return cut === "" ? head : cut;
}
