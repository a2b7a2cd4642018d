/**
 * Which call a tool frame is about. A call id says so; frames without one are matched by the tool's name, oldest first:
 * the first call of that name that has not started is started, the first that has is ended.
 */
import { BoundedMap } from "./bounded-map.ts";

export interface CallFrame {
  readonly call_id?: string;
  readonly name?: string;
}

interface Nameless {
  readonly key: string;
  started: boolean;
}

/** Calls without an id that can be open at once under one name, and how many such names there can be. */
const MAX_NAMELESS = 10_000;
const MAX_NAMES = 1000;

export class CallKeys {
  readonly #open = new BoundedMap<Nameless[]>(MAX_NAMES);
  #made = 0;

  /** The key of the call. `phase` says what becomes of it. */
  keyOf({ call_id, name = "" }: CallFrame, phase: "call" | "before" | "start" | "running" | "end"): string {
    if (call_id !== undefined) return call_id;
    const open = this.#open.getOrCreate(name, () => []);
    if (phase === "call") return this.#add(open, name, false).key;
    const wantsStarted = phase === "running" || phase === "end";
    const found = open.find((call) => call.started === wantsStarted) ?? open[0] ?? this.#add(open, name, false);
    if (phase === "start") found.started = true;
    if (phase === "end") open.splice(open.indexOf(found), 1);
    if (open.length === 0) this.#open.delete(name);
    return found.key;
  }

  #add(open: Nameless[], name: string, started: boolean): Nameless {
    // No call id holds this mark, or it is one that cannot be told from ours anyway.
    const call = { key: `\u0000${name}#${++this.#made}`, started };
    if (open.length < MAX_NAMELESS) open.push(call);
    return call;
  }
}
