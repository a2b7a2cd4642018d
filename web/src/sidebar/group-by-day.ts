/** Groups sessions by the day of their last change: recent days by name, older ones by month. */
import type { SessionListRow } from "../store/session-rows.ts";

export type DayName = "today" | "yesterday" | "week" | "month";

export interface DayGroup {
  /** A name, or the first day of a month. */
  readonly day: DayName | Date;
  readonly rows: readonly SessionListRow[];
}

const NEAR: readonly (readonly [DayName, days: number])[] = [
  ["today", 0],
  ["yesterday", 1],
  ["week", 7],
  ["month", 30],
];

/** Groups by local calendar days. Rows keep their order, and each group appears once. */
export function groupByDay(rows: readonly SessionListRow[], now: number): readonly DayGroup[] {
  const limits = NEAR.map(([name, days]) => [name, startOfDay(now, days)] as const);
  const groups = new Map<string, { day: DayName | Date; rows: SessionListRow[] }>();
  for (const row of rows) {
    const [name] = limits.find(([, start]) => row.updated_at >= start) ?? [];
    const date = new Date(row.updated_at);
    const day = name ?? new Date(date.getFullYear(), date.getMonth(), 1);
    const key = typeof day === "string" ? day : String(day.getTime());
    const group = groups.get(key) ?? { day, rows: [] };
    group.rows.push(row);
    groups.set(key, group);
  }
  return [...groups.values()];
}

/** Uses the calendar, because a day may have 23 or 25 hours. */
function startOfDay(now: number, daysAgo: number): number {
  const date = new Date(now);
  return new Date(date.getFullYear(), date.getMonth(), date.getDate() - daysAgo).getTime();
}
