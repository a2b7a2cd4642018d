/**
 * Splits a growing text into pieces that end at a line break. Only the last piece changes as the text grows, so only
 * that one is laid out again.
 */

const PIECE = 4000;
/** Characters compared to check that a text continues the previous one. */
const COMPARED = 1000;

export type TextCutter = (text: string) => readonly string[];

/** Creates a stateful splitter. If a text continues the previous one, only its last piece is split again. */
export function createTextCutter(size = PIECE): TextCutter {
  let whole: string[] = [];
  let start = 0;
  let last = "";
  return (text) => {
    const from = Math.max(0, last.length - COMPARED);
    const isContinued = text.length >= last.length && text.slice(from, last.length) === last.slice(from);
    if (!isContinued) {
      whole = [];
      start = 0;
    }
    last = text;
    while (text.length - start > size) {
      const end = findEnd(text, start, size);
      if (end >= text.length) break;
      whole.push(detachText(text.slice(start, end)));
      start = end;
    }
    return [...whole, text.slice(start)];
  };
}

function findEnd(text: string, start: number, size: number): number {
  const line = text.indexOf("\n", start + size - 1) + 1;
  // A line without an end is split at four times the size, but never within a surrogate pair.
  const end = line > 0 && line <= start + 4 * size ? line : start + 4 * size;
  return /[\ud800-\udbff]/.test(text[end - 1] ?? "") && end - 1 > start ? end - 1 : end;
}

/**
 * Copies a substring, so that it does not retain its source. Engines may store a substring as a view into the whole
 * string; pieces of a growing text would keep every version in memory.
 */
export function detachText(piece: string): string {
  // Concatenating and slicing creates a new string.
  return ` ${piece}`.slice(1);
}
