/**
 * Nodes without a result: failed nodes and nodes that needed them. Stored with the thought they belong to. All are
 * counted, but only the first ones are listed.
 */
import { detectLanguage } from "../../protocol/detect-language.ts";
import type { MissingNode } from "./prompts.ts";

export type MissingNodes = {
  /** The first of them, in plan order; nodes inside an expanded node follow it. */
  readonly missing: readonly MissingNode[];
  readonly count: number;
};

export const NONE_MISSING: MissingNodes = { missing: [], count: 0 };

/** Maximum listed nodes, because they are part of a record and of a prompt. */
const MAX_LISTED = 100;

export function joinMissing(parts: readonly MissingNodes[]): MissingNodes {
  const missing: MissingNode[] = [];
  let count = 0;
  for (const part of parts) {
    count += part.count;
    if (missing.length < MAX_LISTED) missing.push(...part.missing.slice(0, MAX_LISTED - missing.length));
  }
  return { missing, count };
}

/** Maximum names in the note; the others are counted. */
const MAX_NAMES = 20;

/**
 * Writes the note about missing parts at the end of an answer, in the language of the question. The agent adds it itself,
 * because a model may omit it. Empty if nothing is missing. `count` is the total number, which may be higher than the
 * length of the list.
 */
export function describeMissing(question: string, missing: readonly MissingNode[], count = missing.length): string {
  if (missing.length === 0) return "";
  const names = missing.slice(0, MAX_NAMES).map(({ id }) => id);
  const more = count - names.length;
  if (detectLanguage(question) === "zh") {
    const rest = more === 0 ? "" : `等，共 ${count} 个`;
    return `（以下部分未能得出结果：${names.join("、")}${rest}。）`;
  }
  const rest = more === 0 ? "" : ` and ${more} more`;
  return `(No result for: ${names.join(", ")}${rest}.)`;
}
