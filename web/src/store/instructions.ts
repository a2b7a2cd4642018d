/**
 * The system prompt that the user wrote for a session. It is sent with each message, and stored in the browser: the log
 * has it with each run.
 */
import type { KeyValueStorage } from "./settings.ts";

/** By session; an empty ID is the session that the next message creates. */
export type InstructionsState = ReadonlyMap<string, string>;

export type InstructionsAction =
  | { readonly type: "instructions/written"; readonly session: string; readonly text: string }
  /** A message for a session was sent from another one: a new session, or a version of it. */
  | { readonly type: "instructions/copied"; readonly from: string; readonly to: string };

export const NO_INSTRUCTIONS: InstructionsState = new Map();

/** The server accepts 32 KiB. */
export const MAX_INSTRUCTIONS = 8000;
const MAX_SESSIONS = 50;
const KEY = "loom.instructions";

export function reduceInstructions(state: InstructionsState, action: InstructionsAction): InstructionsState {
  switch (action.type) {
    case "instructions/written":
      return put(state, action.session, action.text.slice(0, MAX_INSTRUCTIONS).toWellFormed());
    case "instructions/copied": {
      const text = state.get(action.from);
      if (text === undefined || state.has(action.to)) return state;
      const copied = put(state, action.to, text);
      // It was written for the session that has now been created.
      return action.from === "" ? put(copied, "", "") : copied;
    }
    // Actions of other slices.
    default:
      return state;
  }
}

function put(state: InstructionsState, session: string, text: string): InstructionsState {
  const next = new Map(state);
  next.delete(session);
  if (text.trim() !== "") next.set(session, text);
  return new Map([...next].slice(-MAX_SESSIONS));
}

export function readInstructions(storage: KeyValueStorage | undefined): InstructionsState {
  try {
    const stored: unknown = JSON.parse(storage?.getItem(KEY) ?? "[]");
    if (!Array.isArray(stored)) return NO_INSTRUCTIONS;
    const entries = stored.filter(
      (entry): entry is [string, string] =>
        Array.isArray(entry) && entry.length === 2 && entry.every((value) => typeof value === "string"),
    );
    return new Map(entries.slice(-MAX_SESSIONS).map(([session, text]) => [session, text.slice(0, MAX_INSTRUCTIONS)]));
  } catch {
    return NO_INSTRUCTIONS;
  }
}

/** Does nothing if the browser refuses to store. */
export function saveInstructions(storage: KeyValueStorage | undefined, state: InstructionsState): void {
  try {
    storage?.setItem(KEY, JSON.stringify([...state]));
  } catch {
    return;
  }
}
