/** How the parts of a message stand below each other: many thoughts with nothing between them are one row. */
import type { MessagePart, ThinkingPart } from "../../client/index.ts";

export interface ThoughtSeries {
  readonly type: "thoughts";
  readonly key: string;
  readonly parts: readonly ThinkingPart[];
}

/** Fewer are shown each for itself. */
const LEAST = 4;

export function groupParts(parts: readonly MessagePart[]): readonly (MessagePart | ThoughtSeries)[] {
  const rows: (MessagePart | ThoughtSeries)[] = [];
  let series: ThinkingPart[] = [];
  const close = (): void => {
    const [first] = series;
    if (first !== undefined && series.length >= LEAST)
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
