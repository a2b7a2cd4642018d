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
