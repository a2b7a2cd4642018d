/**
 * Which call a tool frame is about. A call id says so; frames without one are matched by the tool's name, oldest first:
 * the first call of that name that has not started is started, the first that has is ended.
 */
import { BoundedMap } from "./bounded-map.ts";

export interface CallFrame {
  readonly call_id?: string;
  readonly name?: string;
}

/** Keys of the open calls of one name, oldest first. A call starts as the oldest that waits, so both stay in order. */
interface Nameless {
  readonly waiting: string[];
  readonly started: string[];
}

/** Calls without an id that can be open at once under one name, and how many such names there can be. */
const MAX_NAMELESS = 10_000;
const MAX_NAMES = 1000;

export class CallKeys {
  readonly #open = new BoundedMap<Nameless>(MAX_NAMES);
  #made = 0;

  /** The key of the call. `phase` says what becomes of it. */
  keyOf({ call_id, name = "" }: CallFrame, phase: "call" | "before" | "start" | "running" | "end"): string {
    if (call_id !== undefined) return call_id;
    const { waiting, started } = this.#open.getOrCreate(name, () => ({ waiting: [], started: [] }));
    const count = waiting.length + started.length;
    if (phase === "call" || count === 0) {
      // No call id holds this mark, or it is one that cannot be told from ours anyway.
      const made = `\u0000${name}#${++this.#made}`;
      if (count < MAX_NAMELESS) waiting.push(made);
      if (phase === "call") return made;
    }
    const wantsStarted = phase === "running" || phase === "end";
    // Where there is none of the kind that is wanted, the oldest of the other kind.
    const found = (wantsStarted ? started.length > 0 : waiting.length === 0) ? started : waiting;
    const key = found[0] as string;
    if (phase === "end" || (phase === "start" && found === waiting)) found.shift();
    if (phase === "start" && found === waiting) started.push(key);
    if (waiting.length + started.length === 0) this.#open.delete(name);
    return key;
  }
}
