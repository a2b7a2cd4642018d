/**
 * Compares two texts line by line and writes the changes as a unified diff, of limited length.
 *
 * Lines that occur exactly once in both texts are matched in order; between them, equal lines at both ends are kept and
 * the rest is replaced. The time is O(n log n) in the number of lines, also for texts that have nothing in common.
 */

export interface DiffLimits {
  /** Maximum characters of the diff. A longer diff is truncated and ends with a line `…`. */
  readonly maxCharacters: number;
  /** Maximum characters of one line. */
  readonly maxLine: number;
}

const CONTEXT_LINES = 3;
const DEFAULTS: DiffLimits = { maxCharacters: 20_000, maxLine: 500 };

/** Lines `start` to `end` of the old text are replaced by lines `newStart` to `newEnd` of the new text. */
interface LineChange {
  readonly start: number;
  readonly end: number;
  readonly newStart: number;
  readonly newEnd: number;
}

/** Returns an empty text if both are the same. */
export function diffLines(before: string, after: string, limits: DiffLimits = DEFAULTS): string {
  const old = splitLines(before);
  const now = splitLines(after);
  const cut = (line: string): string =>
    (line.length > limits.maxLine ? `${line.slice(0, limits.maxLine)}…` : line).toWellFormed();
  const lines: string[] = [];
  let length = 0;
  for (const group of groupNear(findChanges(old, now)))
    for (const line of writeGroup(group, old, now)) {
      const shown = cut(line);
      length += shown.length + 1;
      if (length > limits.maxCharacters - 2) return [...lines, "…"].join("\n");
      lines.push(shown);
    }
  return lines.join("\n");
}

/** A final line break ends the last line and does not begin another one. */
function splitLines(text: string): readonly string[] {
  if (text === "") return [];
  return (text.endsWith("\n") ? text.slice(0, -1) : text).split(/\r?\n/);
}

function findChanges(old: readonly string[], now: readonly string[]): readonly LineChange[] {
  const found: LineChange[] = [];
  let start = 0;
  let newStart = 0;
  const add = (end: number, newEnd: number): void => {
    let [from, newFrom, to, newTo] = [start, newStart, end, newEnd];
    while (from < to && newFrom < newTo && old[from] === now[newFrom]) [from, newFrom] = [from + 1, newFrom + 1];
    while (from < to && newFrom < newTo && old[to - 1] === now[newTo - 1]) [to, newTo] = [to - 1, newTo - 1];
    if (from < to || newFrom < newTo) found.push({ start: from, end: to, newStart: newFrom, newEnd: newTo });
  };
  for (const [at, newAt] of matchUniqueLines(old, now)) {
    add(at, newAt);
    [start, newStart] = [at + 1, newAt + 1];
  }
  add(old.length, now.length);
  return found;
}

type LinePair = readonly [at: number, newAt: number];

/** The longest sequence of pairs of unique equal lines that is in the same order in both texts. */
function matchUniqueLines(old: readonly string[], now: readonly string[]): readonly LinePair[] {
  const places = findUnique(now);
  const pairs = [...findUnique(old)]
    .flatMap(([line, at]): LinePair[] => {
      const newAt = places.get(line);
      return newAt === undefined ? [] : [[at, newAt]];
    })
    .toSorted(([one], [other]) => one - other);
  /** For each length, the pair that ends the sequence of this length with the smallest position. */
  const ends: number[] = [];
  const previous: number[] = [];
  for (const [index, [, newAt]] of pairs.entries()) {
    let low = 0;
    for (let high = ends.length; low < high;) {
      const middle = (low + high) >> 1;
      if ((pairs[ends[middle] ?? 0]?.[1] ?? 0) < newAt) low = middle + 1;
      else high = middle;
    }
    previous.push(ends[low - 1] ?? -1);
    ends[low] = index;
  }
  const chain: LinePair[] = [];
  for (let index = ends.at(-1) ?? -1; index >= 0; index = previous[index] ?? -1) chain.push(pairs[index] as LinePair);
  return chain.toReversed();
}

/** Position of every line that occurs once. */
function findUnique(lines: readonly string[]): ReadonlyMap<string, number> {
  const places = new Map<string, number>();
  const repeated = new Set<string>();
  for (const [at, line] of lines.entries())
    if (places.has(line)) repeated.add(line);
    else places.set(line, at);
  for (const line of repeated) places.delete(line);
  return places;
}

/** LineChanges whose context would overlap are written together. */
function groupNear(changes: readonly LineChange[]): readonly (readonly LineChange[])[] {
  const groups: LineChange[][] = [];
  for (const one of changes) {
    const last = groups.at(-1)?.at(-1);
    if (last !== undefined && one.start - last.end <= 2 * CONTEXT_LINES) groups.at(-1)?.push(one);
    else groups.push([one]);
  }
  return groups;
}

function* writeGroup(
  group: readonly LineChange[],
  old: readonly string[],
  now: readonly string[],
): Generator<string, void, void> {
  const [first] = group;
  const last = group.at(-1);
  if (first === undefined || last === undefined) return;
  const from = Math.max(0, first.start - CONTEXT_LINES);
  const to = Math.min(old.length, last.end + CONTEXT_LINES);
  const newFrom = first.newStart - (first.start - from);
  const newTo = last.newEnd + (to - last.end);
  yield `@@ -${writeRange(from, to)} +${writeRange(newFrom, newTo)} @@`;
  let at = from;
  for (const { start, end, newStart, newEnd } of group) {
    for (; at < start; at++) yield ` ${old[at]}`;
    for (; at < end; at++) yield `-${old[at]}`;
    for (let newAt = newStart; newAt < newEnd; newAt++) yield `+${now[newAt]}`;
  }
  for (; at < to; at++) yield ` ${old[at]}`;
}

/** The first line counts from 1; an empty range names the line before it. */
function writeRange(from: number, to: number): string {
  return `${to > from ? from + 1 : from},${to - from}`;
}
