/**
 * Chooses which rows of a message are rendered: by default the last ones. The first row moves in steps, so a growing
 * message does not drop one row at the top for each new row.
 */
export const ROW_LIMITS = { shown: 100, step: 50 };

/** Rows the user asked to see; they stay rendered. */
export interface RowRange {
  readonly from: number;
  /** Infinity includes all rows that arrive later. */
  readonly to: number;
}

export interface VisibleRows {
  readonly first: number;
  /** Exclusive. */
  readonly end: number;
}

export function chooseRows(count: number, requested?: RowRange): VisibleRows {
  const { shown, step } = ROW_LIMITS;
  const first = Math.max(0, Math.floor((count - shown) / step) * step);
  if (requested === undefined) return { first, end: count };
  return { first: Math.max(0, Math.min(first, requested.from)), end: Math.min(count, requested.to) };
}

/** Extends the range by one step at the top. */
export function extendToEarlierRows({ first, end }: VisibleRows, count: number): RowRange {
  return { from: first - ROW_LIMITS.step, to: end === count ? Infinity : end };
}

/** Returns a range around a row, or undefined if the row is visible already. */
export function rangeAroundRow(row: number, { first, end }: VisibleRows, count: number): RowRange | undefined {
  if (row >= first && row < end) return undefined;
  const to = row + ROW_LIMITS.shown;
  return { from: row - ROW_LIMITS.step, to: to >= count ? Infinity : to };
}
