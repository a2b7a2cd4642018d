/**
 * Filters and sorts the rows of a table. The work is split into steps, so that even a large table does not block the
 * page.
 *
 * Invariants: the order is total and stable; empty cells come last in both directions; a row matches the filter if the
 * text of any cell contains it.
 */
import type { Json } from "../../protocol/index.ts";
import { readNumber, type TableData, cellToText } from "../../protocol/read-table.ts";
import type { SlicedTask } from "./run-in-slices.ts";

export type SortDirection = "ascending" | "descending";

export interface Sorting {
  readonly column: number;
  readonly direction: SortDirection;
}

export interface RowQuery {
  readonly filter: string;
  readonly sorting: Sorting | undefined;
}

/** Yields between steps and returns row indexes. */
export type RowTask = SlicedTask<Uint32Array>;
export type RowArranger = (query: RowQuery) => RowTask;

/** Rows sorted in one step, and merged between pauses. */
const STEP_ROWS = 256;
/** Cached orders, so that typing in the filter does not sort again. */
const MAX_CACHED_ORDERS = 4;

/** Creates an arranger for one table. It caches the search text of each row and the latest orders. */
export function createRowArranger(table: TableData, locale: string): RowArranger {
  const collator = new Intl.Collator(locale, { numeric: true });
  const orders = new Map<string, Uint32Array>();
  const texts: string[] = [];

  function* order(sorting: Sorting | undefined): RowTask {
    if (sorting === undefined) return listRows(table.rowCount);
    const name = `${sorting.column} ${sorting.direction}`;
    const known = orders.get(name);
    if (known !== undefined) return known;
    const compare = yield* createComparison(table, sorting, collator);
    const made = yield* mergeSort(listRows(table.rowCount), compare);
    const oldest = orders.keys().next();
    if (orders.size >= MAX_CACHED_ORDERS && oldest.done !== true) orders.delete(oldest.value);
    orders.set(name, made);
    return made;
  }

  return function* arrange({ filter, sorting }) {
    const sought = foldText(filter.trim());
    const all = yield* order(sorting);
    if (sought === "") return all;
    const found = new Uint32Array(all.length);
    let count = 0;
    for (const [at, row] of all.entries()) {
      if ((texts[row] ??= readRowText(table, row)).includes(sought)) found[count++] = row;
      if (at % STEP_ROWS === STEP_ROWS - 1) yield;
    }
    return found.subarray(0, count);
  };
}

export function listRows(count: number): Uint32Array {
  return Uint32Array.from({ length: count }, (_, row) => row);
}

/** Ignores case and full-width or half-width forms. */
function foldText(text: string): string {
  return text.normalize("NFKC").toLowerCase();
}

function readRowText(table: TableData, row: number): string {
  // A filter never contains a line feed, so a match cannot span two cells.
  return foldText(table.columns.map((_, column) => cellToText(table.getCell(row, column))).join("\n"));
}

type Comparison = (one: number, other: number) => number;

/** Orders numbers before texts before empty cells. Reads each cell once. */
function* createComparison(
  table: TableData,
  { column, direction }: Sorting,
  collator: Intl.Collator,
): SlicedTask<Comparison> {
  const isNumeric = table.columns[column]?.kind === "number";
  const ranks = new Uint8Array(table.rowCount);
  const numbers = new Float64Array(table.rowCount);
  const texts: string[] = [];
  for (let row = 0; row < table.rowCount; row++) {
    const cell: Json = table.getCell(row, column);
    const number = isNumeric ? readNumber(cell) : typeof cell === "number" ? cell : undefined;
    if (number !== undefined) numbers[row] = number;
    else ranks[row] = cell === null || cell === "" ? 2 : 1;
    texts.push(ranks[row] === 1 ? cellToText(cell) : "");
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

/** Bottom-up merge sort: `Array.prototype.sort` cannot be interrupted. */
function* mergeSort(rows: Uint32Array, compare: Comparison): RowTask {
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

function* merge(from: Uint32Array, to: Uint32Array, start: number, run: number, compare: Comparison): SlicedTask<void> {
  const middle = Math.min(start + run, from.length);
  const end = Math.min(start + 2 * run, from.length);
  let left = start;
  let right = middle;
  for (let at = start; at < end; at++) {
    const one = from[left] ?? 0;
    const other = from[right] ?? 0;
    const isLeft = left < middle && (right >= end || compare(one, other) <= 0);
    to[at] = isLeft ? one : other;
    if (isLeft) left++;
    else right++;
    if (at % STEP_ROWS === STEP_ROWS - 1) yield;
  }
}
