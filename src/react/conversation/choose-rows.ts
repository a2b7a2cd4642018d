/**
 * How much of a message is in the document: its last rows, whatever it holds. Where they begin moves in steps, so that a
 * message that grows does not lose a row at its top for each it gets at its end.
 */
export const ROW_LIMITS = { shown: 100, step: 50 };

/** Rows that somebody has asked for, who keeps them. */
export interface RowWish {
  readonly from: number;
  /** Infinity: to the end, and what comes there. */
  readonly to: number;
}

export interface ChosenRows {
  readonly first: number;
  /** Behind the last. */
  readonly end: number;
}

export function chooseRows(count: number, wish?: RowWish): ChosenRows {
  const { shown, step } = ROW_LIMITS;
  const first = Math.max(0, Math.floor((count - shown) / step) * step);
  if (wish === undefined) return { first, end: count };
  return { first: Math.max(0, Math.min(first, wish.from)), end: Math.min(count, wish.to) };
}

/** Some more at the top. */
export function wishEarlier({ first, end }: ChosenRows, count: number): RowWish {
  return { from: first - ROW_LIMITS.step, to: end === count ? Infinity : end };
}

/** A row and those around it; undefined where it is there already. */
export function wishRow(row: number, { first, end }: ChosenRows, count: number): RowWish | undefined {
  if (row >= first && row < end) return undefined;
  const to = row + ROW_LIMITS.shown;
  return { from: row - ROW_LIMITS.step, to: to >= count ? Infinity : to };
}
