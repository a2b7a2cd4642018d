/**
 * Which rows of a table are shown, and in which order. The work is cut into steps, so that whoever takes them can do
 * something else in between: a table of any size never holds the page.
 *
 * Invariants: the order is total and stable, so the same wish always gives the same rows; empty cells come last in both
 * directions; the filter takes a row when the text of any of its cells contains it.
 */
import type { Json } from "../../protocol/index.ts";
import { readNumber, type Table, writeCell } from "./read-table.ts";
import type { Steps } from "./run-in-slices.ts";

export type SortDirection = "ascending" | "descending";

export interface Sorting {
  readonly column: number;
  readonly direction: SortDirection;
}

export interface RowWish {
  readonly filter: string;
  readonly sorting: Sorting | undefined;
}

/** The last step gives the rows by their numbers. */
export type RowSteps = Steps<Uint32Array>;
export type RowArranger = (wish: RowWish) => RowSteps;

/** A run this long is sorted in one step, and merges pause as often. */
const STEP_ROWS = 256;
/** Orders that are kept, so that a filter that is typed does not sort anew. */
const MAX_ORDERS = 4;

/** Keeps what it has prepared for the table: texts to search in, and the last orders. */
export function createRowArranger(table: Table, locale: string): RowArranger {
  const collator = new Intl.Collator(locale, { numeric: true });
  const orders = new Map<string, Uint32Array>();
  const texts: string[] = [];

  function* order(sorting: Sorting | undefined): RowSteps {
    if (sorting === undefined) return listRows(table.rowCount);
    const name = `${sorting.column} ${sorting.direction}`;
    const known = orders.get(name);
    if (known !== undefined) return known;
    const compare = yield* createComparison(table, sorting, collator);
    const made = yield* mergeSort(listRows(table.rowCount), compare);
    const oldest = orders.keys().next();
    if (orders.size >= MAX_ORDERS && oldest.done !== true) orders.delete(oldest.value);
    orders.set(name, made);
    return made;
  }

  return function* arrange({ filter, sorting }) {
    const sought = foldText(filter.trim());
    const all = yield* order(sorting);
    if (sought === "") return all;
    const found = new Uint32Array(all.length);
    let count = 0;
    for (const [place, row] of all.entries()) {
      if ((texts[row] ??= readRowText(table, row)).includes(sought)) found[count++] = row;
      if (place % STEP_ROWS === STEP_ROWS - 1) yield;
    }
    return found.subarray(0, count);
  };
}

export function listRows(count: number): Uint32Array {
  return Uint32Array.from({ length: count }, (_, row) => row);
}

/** Large and small letters, and wide and narrow forms of the same sign, are the same to a searcher. */
function foldText(text: string): string {
  return text.normalize("NFKC").toLowerCase();
}

function readRowText(table: Table, row: number): string {
  // No filter contains a line feed, so none is found across two cells.
  return foldText(table.columns.map((_, column) => writeCell(table.getCell(row, column))).join("\n"));
}

type Comparison = (one: number, other: number) => number;

/** Numbers before texts before nothing. Each cell is looked at once, here. */
function* createComparison(table: Table, { column, direction }: Sorting, collator: Intl.Collator): Steps<Comparison> {
  const isNumeric = table.columns[column]?.kind === "number";
  const ranks = new Uint8Array(table.rowCount);
  const numbers = new Float64Array(table.rowCount);
  const texts: string[] = [];
  for (let row = 0; row < table.rowCount; row++) {
    const cell: Json = table.getCell(row, column);
    const number = isNumeric ? readNumber(cell) : typeof cell === "number" ? cell : undefined;
    if (number !== undefined) numbers[row] = number;
    else ranks[row] = cell === null || cell === "" ? 2 : 1;
    texts.push(ranks[row] === 1 ? writeCell(cell) : "");
    if (row % STEP_ROWS === STEP_ROWS - 1) yield;
  }
  const sign = direction === "ascending" ? 1 : -1;
  const rankOf = (row: number): number => ranks[row] ?? 2;
  return (one, other) => {
    const rank = rankOf(one);
    const difference = rank - rankOf(other);
    if (difference !== 0) return rank === 2 || rankOf(other) === 2 ? difference : sign * difference;
    const inside =
      rank === 0
        ? compareNumbers(numbers[one] ?? 0, numbers[other] ?? 0)
        : compareTexts(texts[one] ?? "", texts[other] ?? "", collator);
    return inside === 0 ? one - other : sign * inside;
  };
}

function compareNumbers(one: number, other: number): number {
  return one < other ? -1 : one > other ? 1 : 0;
}

function compareTexts(one: string, other: string, collator: Intl.Collator): number {
  return one === other ? 0 : collator.compare(one, other);
}

/** From runs that are sorted at once to the whole, doubling. The browser's own sort could not be interrupted. */
function* mergeSort(rows: Uint32Array, compare: Comparison): RowSteps {
  for (let start = 0; start < rows.length; start += STEP_ROWS) {
    rows.subarray(start, start + STEP_ROWS).sort(compare);
    yield;
  }
  let from = rows;
  let to: Uint32Array = new Uint32Array(rows.length);
  for (let run = STEP_ROWS; run < rows.length; run *= 2) {
    for (let start = 0; start < rows.length; start += 2 * run) yield* merge(from, to, start, run, compare);
    [from, to] = [to, from];
  }
  return from;
}

function* merge(from: Uint32Array, to: Uint32Array, start: number, run: number, compare: Comparison): Steps<void> {
  const middle = Math.min(start + run, from.length);
  const end = Math.min(start + 2 * run, from.length);
  let left = start;
  let right = middle;
  for (let place = start; place < end; place++) {
    const one = from[left] ?? 0;
    const other = from[right] ?? 0;
    const isLeft = left < middle && (right >= end || compare(one, other) <= 0);
    to[place] = isLeft ? one : other;
    if (isLeft) left++;
    else right++;
    if (place % STEP_ROWS === STEP_ROWS - 1) yield;
  }
}
