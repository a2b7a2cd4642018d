/**
 * Groups parts of a message into rows: consecutive thinking parts, and the parts of each superseded attempt.
 *
 * Invariant: every part is in exactly one row.
 */
import type { MessagePart } from "../../client/index.ts";
import type { ThinkingPart } from "../../client/view.ts";

export interface ThoughtSeries {
  readonly type: "thoughts";
  readonly key: string;
  readonly parts: readonly ThinkingPart[];
}

/** What an interrupted attempt left, where the next attempt begins. */
export interface SupersededAttempt {
  readonly type: "superseded";
  readonly key: string;
  readonly parts: readonly MessagePart[];
}

export type MessageRow = MessagePart | ThoughtSeries | SupersededAttempt;

/** Shorter series are shown part by part. */
const MIN_SERIES = 4;

export function groupParts(parts: readonly MessagePart[]): readonly MessageRow[] {
  const rows: MessageRow[] = [];
  /** Parts of each attempt. Its row is at its last part. */
  const attempts = new Map<number, MessagePart[]>();
  for (const part of parts) {
    if (part.supersededBy === undefined) continue;
    const same = attempts.get(part.supersededBy);
    if (same === undefined) attempts.set(part.supersededBy, [part]);
    else same.push(part);
  }
  let series: ThinkingPart[] = [];
  const close = (): void => {
    const [first] = series;
    if (first !== undefined && series.length >= MIN_SERIES)
      rows.push({ type: "thoughts", key: `thoughts ${first.key}`, parts: series });
    else rows.push(...series);
    series = [];
  };
  for (const part of parts) {
    const superseded = part.supersededBy === undefined ? undefined : attempts.get(part.supersededBy);
    if (superseded !== undefined && superseded.at(-1) !== part) continue;
    if (superseded === undefined && part.type === "thinking") {
      series.push(part);
      continue;
    }
    close();
    if (superseded === undefined) rows.push(part);
    else rows.push({ type: "superseded", key: `superseded ${part.supersededBy}`, parts: superseded });
  }
  close();
  return rows;
}

/** Returns true if the row contains the part with this key. */
export function hasPart(row: MessageRow, key: string): boolean {
  return row.type === "thoughts" || row.type === "superseded"
    ? row.parts.some((part) => part.key === key)
    : row.key === key;
}

export const ROW_LIMITS = { shown: 100, step: 50 };

/** Rows the user asked to see; they stay rendered. */
export interface RowRange {
  readonly from: number;
  /** Infinity includes all rows that arrive later. */
  readonly to: number;
}

interface VisibleRows {
  readonly first: number;
  /** Exclusive. */
  readonly end: number;
}

/**
 * Chooses which rows of a message are rendered: by default the last ones. The first row moves in steps, so a growing
 * message does not drop one row at the top for each new row.
 */
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
