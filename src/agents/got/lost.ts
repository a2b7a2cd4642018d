/**
 * What a graph has come to without: nodes that failed and nodes behind them, gathered from the inside out. Plain data that
 * is remembered with the thought it belongs to; only so many are named, and all are counted.
 */
import type { Missing } from "./prompts.ts";

export type Lost = {
  /** The first of them, in the order of the plan; those inside of a node after it. */
  readonly missing: readonly Missing[];
  readonly count: number;
};

export const NOTHING_LOST: Lost = { missing: [], count: 0 };

/** Those that are named: they are part of a record, and of a prompt. */
const MAX_NAMED = 100;

export function joinLost(parts: readonly Lost[]): Lost {
  const missing: Missing[] = [];
  let count = 0;
  for (const part of parts) {
    count += part.count;
    if (missing.length < MAX_NAMED) missing.push(...part.missing.slice(0, MAX_NAMED - missing.length));
  }
  return { missing, count };
}
