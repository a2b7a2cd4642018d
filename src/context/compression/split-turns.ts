/**
 * Where a conversation may be cut: between turns, and within the present turn between rounds. A turn begins with what the
 * user says; a round is what the model says, with the results of its calls. No cut parts a call from its result.
 */
import type { ModelMessage } from "../../models/model.ts";

export interface Turns {
  /** Where turns begin, oldest first; the last is the present one. */
  readonly starts: readonly number[];
  /** The user's message that the present turn begins with; undefined where the user has said nothing. */
  readonly question: number | undefined;
  /** Where rounds of the present turn begin that have a later one, after the first. */
  readonly rounds: readonly number[];
}

/** `messages` are those without the system's. */
export function splitTurns(messages: readonly ModelMessage[], asked?: string): Turns {
  const starts: number[] = [];
  const question = findQuestion(messages, asked);
  for (const [index, { role }] of messages.entries()) {
    if (question !== undefined && index > question) break;
    // What follows results is a note within the turn.
    if (index === question || index === 0 || (role === "user" && messages[index - 1]?.role !== "tool"))
      starts.push(index);
  }
  const rounds: number[] = [];
  let first = true;
  for (let index = (question ?? starts.at(-1) ?? 0) + 1; index < messages.length; index++) {
    if (messages[index]?.role !== "assistant") continue;
    if (!first) rounds.push(index);
    first = false;
  }
  return { starts, question, rounds };
}

function findQuestion(messages: readonly ModelMessage[], asked: string | undefined): number | undefined {
  let last: number | undefined;
  for (let index = messages.length - 1; index >= 0; index--) {
    const message = messages[index];
    if (message?.role !== "user") continue;
    if (asked === undefined) {
      if (messages[index - 1]?.role !== "tool") return index;
    } else if (message.content.length === 1 && message.content[0]?.text === asked) return index;
    if (last === undefined || messages[last - 1]?.role === "tool") last = index;
  }
  return last;
}
