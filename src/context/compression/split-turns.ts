/**
 * Where a conversation may be cut: between turns, and within the present turn between rounds. A turn begins with what the
 * user says; a round is what the model says, with the results of its calls. No cut parts a call from its result.
 */
import type { ModelMessage } from "../../models/model.ts";

export interface Turns {
  /** Where turns begin, oldest first; the last is the present one. */
  readonly starts: readonly number[];
  /** Where the present turn begins. */
  readonly present: number;
  /** The user's message that the present turn begins with; undefined where it begins with none. */
  readonly question: number | undefined;
  /** Where rounds of the present turn begin that have a later one, after the first. */
  readonly rounds: readonly number[];
}

/** `messages` are those without the system's, `begin` is where the present turn begins. */
export function splitTurns(messages: readonly ModelMessage[], begin?: number): Turns {
  const wanted = begin ?? messages.findLastIndex(({ role }) => role === "user");
  const present = Math.max(0, Math.min(wanted, messages.length - 1));
  const starts: number[] = [];
  for (let index = 0; index < present; index++) if (index === 0 || messages[index]?.role === "user") starts.push(index);
  starts.push(present);
  const rounds: number[] = [];
  for (let index = present + 1; index < messages.length; index++)
    if (messages[index]?.role === "assistant") rounds.push(index);
  const question = messages[present]?.role === "user" ? present : undefined;
  return { starts, present, question, rounds: rounds.slice(1) };
}
