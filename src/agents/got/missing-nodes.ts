/**
 * Nodes without a result: failed nodes and nodes that needed them. Stored with the thought they belong to. All are
 * counted, but only the first ones are listed.
 */
import type { MissingNode } from "./prompts.ts";

export type MissingNodes = {
  /** The first of them, in plan order; nodes inside an expanded node follow it. */
  readonly missing: readonly MissingNode[];
  readonly count: number;
};

export const NONE_MISSING: MissingNodes = { missing: [], count: 0 };

/** Maximum listed nodes, because they are part of a record and of a prompt. */
const MAX_NAMED = 100;

export function joinMissing(parts: readonly MissingNodes[]): MissingNodes {
  const missing: MissingNode[] = [];
  let count = 0;
  for (const part of parts) {
    count += part.count;
    if (missing.length < MAX_NAMED) missing.push(...part.missing.slice(0, MAX_NAMED - missing.length));
  }
  return { missing, count };
}
