/**
 * Cuts the excerpt of a passage to show to users: a window around the part that matches the query best, cut between
 * words.
 */
import { isInsidePair } from "../../protocol/cut-text.ts";

/** Position of a query term, and its weight. */
export interface Match {
  readonly start: number;
  readonly end: number;
  readonly weight: number;
}

const WINDOW = 240;
/** Maximum characters a cut is moved to fall between words. */
const SLACK = 24;
const BREAK = /[\s,.;:!?，。；：！？、（）()]/;

/** Returns the excerpt. `matches` must be sorted by position. */
export function makeSnippet(content: string, matches: readonly Match[]): string {
  const start = findStart(content, matches);
  const end = Math.min(content.length, start + WINDOW);
  const from = start === 0 ? 0 : moveToBreak(content, start, Math.min(end, start + SLACK));
  const to = end === content.length ? end : moveBack(content, end, Math.max(from, end - SLACK));
  const shown = content.slice(from, to).toWellFormed().replaceAll(/\s+/g, " ").trim();
  return `${from > 0 ? "…" : ""}${shown}${to < content.length ? "…" : ""}`;
}

/** Returns the start of the window with the highest weight, including some text before its first match. */
function findStart(content: string, matches: readonly Match[]): number {
  if (content.length <= WINDOW) return 0;
  let best = 0;
  let most = 0;
  let sum = 0;
  let first = 0;
  for (const [index, { end, weight }] of matches.entries()) {
    sum += weight;
    while (first < index && (matches[first]?.start ?? 0) < end - WINDOW * 0.75) sum -= matches[first++]?.weight ?? 0;
    if (sum <= most) continue;
    most = sum;
    best = matches[first]?.start ?? 0;
  }
  return Math.max(0, Math.min(best - WINDOW / 4, content.length - WINDOW));
}

function moveToBreak(content: string, from: number, limit: number): number {
  for (let at = from; at < limit; at++) if (BREAK.test(content[at] ?? "")) return at + 1;
  return isInsidePair(content, from) ? from + 1 : from;
}

function moveBack(content: string, from: number, limit: number): number {
  for (let at = from; at > limit; at--) if (BREAK.test(content[at] ?? "")) return at;
  return isInsidePair(content, from) ? from - 1 : from;
}
