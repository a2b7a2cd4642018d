/**
 * Finds where a conversation may be cut: between turns, and between the rounds of the current turn. A turn starts with
 * a user message. A round is one assistant message with the results of its tool calls, so no cut separates a call from
 * its result.
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
