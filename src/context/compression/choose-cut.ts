/**
 * Chooses how much of a conversation is summarised: as little as brings it to the target, and of the latest turns nothing,
 * as long as the rest leaves room without. A pure function of sizes.
 */
import type { Turns } from "./split-turns.ts";

export interface CutQuestion {
  readonly turns: Turns;
  /** Tokens of each message. */
  readonly sizes: readonly number[];
  /** Up to here it is summarised already. */
  readonly from: number;
  /** Turns that stay, the present one included. */
  readonly keepTurns: number;
  /** Tokens that are sent in any case: system, tools, and room for the summary. */
  readonly fixed: number;
  readonly limit: number;
  readonly target: number;
}

export interface Cut {
  /** The first message that stays, apart from the question. */
  readonly at: number;
  /** Tokens that will be sent, the summary taken as long as it may be. */
  readonly tokens: number;
}

/** Undefined where nothing can be left out. */
export function chooseCut({
  turns,
  sizes,
  from,
  keepTurns,
  fixed,
  limit,
  target,
}: CutQuestion): { readonly cut: Cut; readonly least: Cut } | undefined {
  const { starts, question, rounds } = turns;
  const after = sumFromEnd(sizes);
  const measure = (at: number): Cut => {
    const kept = question !== undefined && question < at ? (sizes[question] ?? 0) : 0;
    return { at, tokens: fixed + (after[at] ?? 0) + kept };
  };
  const places = [...starts, ...rounds];
  const freeCount = Math.max(0, starts.length - keepTurns + 1);
  const measured = places.map(measure);
  const free = measured.slice(0, freeCount).filter(({ at }) => at > from);
  const others = measured.slice(freeCount).filter(({ at }) => at > from);
  const least = others.at(-1) ?? free.at(-1);
  if (least === undefined) return undefined;
  const lastFree = free.at(-1);
  // A prompt just below the limit would be compressed anew with every turn.
  const isRoomy = lastFree !== undefined && lastFree.tokens <= (limit + target) / 2;
  const cut =
    free.find(({ tokens }) => tokens <= target) ??
    (isRoomy ? lastFree : others.find(({ tokens }) => tokens <= target)) ??
    least;
  return { cut, least };
}

function sumFromEnd(sizes: readonly number[]): readonly number[] {
  const sums = Array.from({ length: sizes.length + 1 }, () => 0);
  for (let index = sizes.length - 1; index >= 0; index--) sums[index] = (sums[index + 1] ?? 0) + (sizes[index] ?? 0);
  return sums;
}
