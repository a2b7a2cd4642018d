/**
 * Truncates long texts, so that rendering cost does not grow with their length. Texts only grow at their end, so an
 * offset stays valid. Surrogate pairs are never split.
 */
import { cutText, isInsidePair } from "../../protocol/cut-text.ts";

/** Returns the last `max` characters. */
export function cutTail(text: string, max: number): string {
  return text.length <= max ? text : text.slice(toCharacterBoundary(text, text.length - max));
}

const PREVIEW = 200;

/** Returns the last non-empty line within the last characters. The cost does not depend on the length of the text. */
export function findLastLine(text: string): string {
  const tail = cutTail(text, PREVIEW);
  const trimmed = tail.trimEnd();
  return trimmed.slice(trimmed.lastIndexOf("\n") + 1).trim();
}

/** Returns the first `maxLines` lines and at most `max` characters, or the text itself if it is shorter. */
export function foldText(text: string, maxLines: number, max: number): string {
  let end = 0;
  for (let lines = 0; lines < maxLines; lines++) {
    const next = text.indexOf("\n", end);
    if (next === -1) return cutText(text, max);
    end = next + 1;
  }
  return end >= text.length ? cutText(text, max) : cutText(text.slice(0, end - 1), max);
}

export type TextRange = readonly [from: number, to: number];

/**
 * Splits a text into blocks of about `size` characters that end at a line break, and returns at most the last `max`
 * characters. A finished block does not change while the text grows, so the browser lays out only the last one.
 */
export function findBlocks(text: string, size: number, max: number): readonly TextRange[] {
  const blocks: TextRange[] = [];
  const { length } = text;
  // The start moves in steps, so that blocks stay stable.
  const first = length <= max ? 0 : Math.ceil((length - max) / size) * size;
  let from = first === 0 ? 0 : (findLineNear(text, first, size) ?? toCharacterBoundary(text, first));
  for (let at = first + size; at < length; at += size) {
    const next = findLineNear(text, at, size);
    // Without a line break nearby, the block continues.
    if (next === undefined) continue;
    blocks.push([from, next]);
    from = next;
  }
  if (from < length) blocks.push([from, length]);
  return blocks;
}

/** Returns the start of the next line if it is less than `size` characters away. */
function findLineNear(text: string, at: number, size: number): number | undefined {
  const end = text.slice(at, at + size).indexOf("\n");
  const next = at + end + 1;
  return end === -1 || next >= text.length ? undefined : next;
}

/** The browser lays out a growing text from its beginning at each update, so longer texts update in steps. */
const THROTTLED_LENGTH = 65_536;
const GROWTH_DIVISOR = 4096;

/** Whether a text with `shown` of `length` characters rendered should update. Total cost stays linear in the length. */
export function isUpdateDue(shown: number, length: number): boolean {
  return length !== shown && (length < THROTTLED_LENGTH || length < shown || length - shown >= length / GROWTH_DIVISOR);
}

/** Moves an offset out of a surrogate pair. */
function toCharacterBoundary(text: string, at: number): number {
  return isInsidePair(text, at) ? at + 1 : at;
}
