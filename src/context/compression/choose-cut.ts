/**
 * Chooses where to cut a conversation: everything before the cut is replaced by a summary. Pure functions of messages and
 * their sizes.
 *
 * A conversation may be cut between turns, and between the rounds of the current turn. A turn starts with a user message.
 * A round is one assistant message with the results of its tool calls, so no cut separates a call from its result.
 */
import type { ModelMessage } from "../../models/model.ts";

export interface ConversationTurns {
  /** Index of the first message of each turn, oldest first. The last one is the current turn. */
  readonly starts: readonly number[];
  /** Index of the first message of the current turn. */
  readonly current: number;
  /** Index of the user message that starts the current turn; undefined if there is none. */
  readonly question: number | undefined;
  /** Index of the first message of each round of the current turn, from its second round on. */
  readonly rounds: readonly number[];
}

/** Splits `messages`, given without the system message. `begin` is the start of the current turn. */
export function splitTurns(messages: readonly ModelMessage[], begin?: number): ConversationTurns {
  const wanted = begin ?? messages.findLastIndex(({ role }) => role === "user");
  const current = Math.max(0, Math.min(wanted, messages.length - 1));
  const starts: number[] = [];
  for (let index = 0; index < current; index++) if (index === 0 || messages[index]?.role === "user") starts.push(index);
  starts.push(current);
  const rounds: number[] = [];
  for (let index = current + 1; index < messages.length; index++)
    if (messages[index]?.role === "assistant") rounds.push(index);
  const question = messages[current]?.role === "user" ? current : undefined;
  return { starts, current, question, rounds: rounds.slice(1) };
}

export interface CutOptions {
  readonly turns: ConversationTurns;
  /** Tokens of each message. */
  readonly sizes: readonly number[];
  /** Index of the first message that is not summarized yet. */
  readonly from: number;
  /** Number of latest turns to keep, including the current one. */
  readonly keepTurns: number;
  /** Tokens sent in any case: system message, tools, and the space reserved for the summary. */
  readonly fixed: number;
  /** Tokens above which a prompt is compressed. */
  readonly limit: number;
  /** Tokens a compressed prompt should have at most. */
  readonly target: number;
}

export interface PromptCut {
  /** Index of the first message kept. The question of the current turn is kept even if it is before this index. */
  readonly at: number;
  /** Size of the resulting prompt, assuming a summary of maximum length. */
  readonly tokens: number;
}

/**
 * Returns the best cut and `least`, the cut that keeps the fewest tokens. Returns undefined if nothing can be removed. The
 * best cut removes as little as reaches the target, and keeps the latest turns as long as that still leaves enough room.
 */
export function chooseCut({
  turns,
  sizes,
  from,
  keepTurns,
  fixed,
  limit,
  target,
}: CutOptions): { readonly cut: PromptCut; readonly least: PromptCut } | undefined {
  const { starts, question, rounds } = turns;
  const after = sumFromEnd(sizes);
  const measure = (at: number): PromptCut => {
    const kept = question !== undefined && question < at ? (sizes[question] ?? 0) : 0;
    return { at, tokens: fixed + (after[at] ?? 0) + kept };
  };
  const positions = [...starts, ...rounds];
  const freeCount = Math.max(0, starts.length - keepTurns + 1);
  const measured = positions.map(measure);
  const free = measured.slice(0, freeCount).filter(({ at }) => at > from);
  const others = measured.slice(freeCount).filter(({ at }) => at > from);
  const least = others.at(-1) ?? free.at(-1);
  if (least === undefined) return undefined;
  const lastFree = free.at(-1);
  // A prompt just below the limit would have to be compressed again on every turn.
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
