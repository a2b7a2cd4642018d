/**
 * The system prompt of a session. Like its agent, it is that of the latest run, which the log has: every tab and every
 * process continues with it. Here is only what the user wrote until its message has become a run.
 */
import type { KeyValueStorage } from "./settings.ts";

/** A system prompt that the user wrote; an empty one removes the prompt. */
export interface WrittenPrompt {
  readonly text: string;
  /** Run of the message it was sent with. */
  readonly runId?: string;
}

/** By session; an empty ID is the session that the next message creates. */
export type InstructionsState = ReadonlyMap<string, WrittenPrompt>;

export type InstructionsAction =
  | { readonly type: "instructions/written"; readonly session: string; readonly text: string }
  /** It was sent with a message of `session`. `from` is the session it was written for: a new one, or another version. */
  | {
      readonly type: "instructions/sent";
      readonly from: string;
      readonly session: string;
      readonly text: string;
      readonly runId: string;
    }
  /** These runs appeared in the session: from now on the log has their prompt. */
  | {
      readonly type: "instructions/started";
      readonly session: string;
      readonly runIds: ReadonlySet<string | undefined>;
    }
  /** What the user wrote was read from storage, or another user takes over the page. */
  | { readonly type: "instructions/loaded"; readonly instructions: InstructionsState };

export const NO_INSTRUCTIONS: InstructionsState = new Map();

/** The server accepts 32 KiB. */
export const MAX_INSTRUCTIONS = 8000;
const MAX_SESSIONS = 50;
/** Key in the storage of the browser. */
export const INSTRUCTIONS_KEY = "loom.instructions";

/** Returns the system prompt for the next message; empty if there is none. */
export function findInstructions(
  written: WrittenPrompt | undefined,
  turns: readonly { readonly runId?: string | undefined; readonly instructions?: string | undefined }[],
): string {
  const runId = written?.runId;
  const isStarted = runId !== undefined && turns.some((turn) => turn.runId === runId);
  const text = written === undefined || isStarted ? turns.at(-1)?.instructions : written.text;
  return text === undefined || text.trim() === "" ? "" : text;
}

export function reduceInstructions(state: InstructionsState, action: InstructionsAction): InstructionsState {
  switch (action.type) {
    case "instructions/written":
      return put(state, action.session, { text: action.text.slice(0, MAX_INSTRUCTIONS).toWellFormed() });
    case "instructions/sent": {
      const { from, session, text, runId } = action;
      if (text === "" && !state.has(from) && !state.has(session)) return state;
      const sent = put(state, session, { text, runId });
      // It was written for the session that has now been created.
      return from === "" ? drop(sent, "") : sent;
    }
    case "instructions/started": {
      const { session, runIds } = action;
      const runId = state.get(session)?.runId;
      return runId !== undefined && runIds.has(runId) ? drop(state, session) : state;
    }
    case "instructions/loaded":
      return action.instructions;
    // Actions of other slices.
    default:
      return state;
  }
}

function put(state: InstructionsState, session: string, prompt: WrittenPrompt): InstructionsState {
  return new Map([...drop(state, session), [session, prompt] as const].slice(-MAX_SESSIONS));
}

function drop(state: InstructionsState, session: string): InstructionsState {
  return new Map([...state].filter(([name]) => name !== session));
}

/** Returns what this user wrote, and nothing of another user of the browser. `owner` is empty without authentication. */
export function readInstructions(storage: KeyValueStorage | undefined, owner: string): InstructionsState {
  try {
    const stored: unknown = JSON.parse(storage?.getItem(INSTRUCTIONS_KEY) ?? "null");
    if (!isStored(stored) || stored.owner !== owner || !Array.isArray(stored.prompts)) return NO_INSTRUCTIONS;
    const entries = stored.prompts.filter(
      (entry): entry is [string, string, string?] =>
        Array.isArray(entry) &&
        (entry.length === 2 || entry.length === 3) &&
        entry.every((value) => typeof value === "string"),
    );
    return new Map(
      entries.slice(-MAX_SESSIONS).map(([session, text, runId]) => {
        const prompt = { text: text.slice(0, MAX_INSTRUCTIONS), ...(runId === undefined ? {} : { runId }) };
        return [session, prompt] as const;
      }),
    );
  } catch {
    return NO_INSTRUCTIONS;
  }
}

function isStored(value: unknown): value is { readonly owner?: unknown; readonly prompts?: unknown } {
  return typeof value === "object" && value !== null;
}

/**
 * Stores what changed since `before`. Other tabs store too, so the rest stays as it is. Does nothing if the browser refuses
 * to store.
 */
export function saveInstructions(
  storage: KeyValueStorage | undefined,
  owner: string,
  before: InstructionsState,
  now: InstructionsState,
): void {
  let state = readInstructions(storage, owner);
  for (const session of before.keys()) if (!now.has(session)) state = drop(state, session);
  for (const [session, prompt] of now) if (before.get(session) !== prompt) state = put(state, session, prompt);
  writeInstructions(storage, owner, state);
}

/** Replaces everything. Does nothing if the browser refuses to store. */
export function writeInstructions(storage: KeyValueStorage | undefined, owner: string, state: InstructionsState): void {
  const prompts = [...state].map(([session, { text, runId }]) => [
    session,
    text,
    ...(runId === undefined ? [] : [runId]),
  ]);
  try {
    storage?.setItem(INSTRUCTIONS_KEY, JSON.stringify(prompts.length === 0 ? {} : { owner, prompts }));
  } catch {
    return;
  }
}
