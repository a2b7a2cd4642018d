/**
 * A long text in pieces that end with a line. A piece that is followed by another does not change when the text grows, so
 * that only the last is laid out again, and only the last is looked at again.
 */
import { detachText } from "./detach-text.ts";

const PIECE = 4000;
/** So much before the last piece is looked at to see that a text continues the one before. */
const COMPARED = 1000;

export type TextCutter = (text: string) => readonly string[];

/** Remembers one text: the next is cut from where the last piece began, if it continues it. */
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
  // A line without an end is cut after four times the size, but never within a character.
  const end = line > 0 && line <= start + 4 * size ? line : start + 4 * size;
  return /[\ud800-\udbff]/.test(text[end - 1] ?? "") && end - 1 > start ? end - 1 : end;
}
