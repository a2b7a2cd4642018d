/** Groups consecutive thinking parts of a message into one row. */
import type { MessagePart, ThinkingPart } from "../../client/index.ts";

export interface ThoughtSeries {
  readonly type: "thoughts";
  readonly key: string;
  readonly parts: readonly ThinkingPart[];
}

/** Shorter series are shown part by part. */
const MIN_SERIES = 4;

export function groupParts(parts: readonly MessagePart[]): readonly (MessagePart | ThoughtSeries)[] {
  const rows: (MessagePart | ThoughtSeries)[] = [];
  let series: ThinkingPart[] = [];
  const close = (): void => {
    const [first] = series;
    if (first !== undefined && series.length >= MIN_SERIES)
      rows.push({ type: "thoughts", key: `thoughts ${first.key}`, parts: series });
    else rows.push(...series);
    series = [];
  };
  for (const part of parts) {
    if (part.type === "thinking") series.push(part);
    else {
      close();
      rows.push(part);
    }
  }
  close();
  return rows;
}
