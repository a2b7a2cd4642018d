/**
 * Finds the call that a tool frame belongs to. Frames without a call ID are matched by tool name, oldest first: a start
 * goes to the first call that has not started, an end to the first that has.
 */
import { BoundedMap } from "./bounded-map.ts";

/** What a frame does: makes a call, comes before its tool starts (such as a question), or starts, follows or ends the tool. */
export type CallPhase = "call" | "before" | "start" | "running" | "end";

/** The fields that identify a tool call. */
export interface CallFrame {
  readonly call_id?: string;
  readonly name?: string;
}

/**
 * Keys of the open calls of one tool, oldest first. Calls start in the order they were made, so both lists stay sorted.
 */
interface CallsWithoutId {
  readonly waiting: string[];
  readonly started: string[];
}

/** Maximum number of open calls without an ID per tool name, and of tool names. */
const MAX_NAMELESS = 10_000;
const MAX_NAMES = 1000;

/** The state of `CallKeys`: plain data that can be stored. */
export interface CallKeysState {
  /** Calls without an ID, by tool name. */
  readonly open: Map<string, CallsWithoutId>;
  /** Number of keys made so far. */
  made: number;
}

/** Assigns a key to each tool call of one run. Changes `state` in place. */
export class CallKeys {
  readonly #state: CallKeysState;
  readonly #open: BoundedMap<CallsWithoutId>;

  constructor(state: CallKeysState = { open: new Map(), made: 0 }) {
    this.#state = state;
    this.#open = new BoundedMap(MAX_NAMES, undefined, state.open);
  }

  /** Returns the key of the call. */
  keyOf({ call_id, name = "" }: CallFrame, phase: CallPhase): string {
    if (call_id !== undefined) return call_id;
    const { waiting, started } = this.#open.getOrCreate(name, () => ({ waiting: [], started: [] }));
    const count = waiting.length + started.length;
    if (phase === "call" || count === 0) {
      // The NUL character keeps generated keys apart from call IDs.
      const made = `\u0000${name}#${++this.#state.made}`;
      if (count < MAX_NAMELESS) waiting.push(made);
      if (phase === "call") return made;
    }
    const wantsStarted = phase === "running" || phase === "end";
    // If there is no call in the expected state, use the oldest one in the other state.
    const found = (wantsStarted ? started.length > 0 : waiting.length === 0) ? started : waiting;
    const key = found[0] as string;
    if (phase === "end" || (phase === "start" && found === waiting)) found.shift();
    if (phase === "start" && found === waiting) started.push(key);
    if (waiting.length + started.length === 0) this.#open.delete(name);
    return key;
  }
}

/** Key of the call whose arguments are being streamed in a node run under this index. */
export function slotOf(nodeId: string | undefined, index: number | undefined): string {
  return `${nodeId ?? ""}\n${index ?? ""}`;
}
