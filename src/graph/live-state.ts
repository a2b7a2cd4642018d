/**
 * The state of a graph that runs. Nodes' writes become patches, and patches are merged in the order of their tasks. Lists
 * and objects that grow do so in place: a step costs what it writes, not what the state holds.
 *
 * Invariant: folding the patches it gives, in the order of their tasks, and then its corrections, gives its values. It
 * knows no node and no log.
 */
import { copyJson, isPlainJson } from "../engine/plain-json.ts";
import {
  type ChannelPatch,
  isDeeperThan,
  isJsonObject,
  type Json,
  type JsonObject,
  LoomError,
  MAX_JSON_DEPTH,
  type StatePatch,
} from "../protocol/index.ts";
import type { Channel, Channels } from "./graph.ts";

type Values = { [channel: string]: Json };
type MutablePatch = { [channel: string]: ChannelPatch };

export const NO_CORRECTIONS: StatePatch = {};

/** Writes of a super-step from which on a late one is merged behind the others until the step ends. */
const MAX_REMERGED = 256;

/** An event holds a value some levels down, and may be no deeper than any other. */
const MAX_DEPTH = MAX_JSON_DEPTH - 8;

/** What of a channel with a reducer of its own was written in the super-step that is going. */
interface CustomWrites {
  /** By task. */
  readonly writes: Map<number, Json>;
  /** All of them merged, as far as they came in order. */
  value: Json;
  lastTask: number;
  /** The patches, folded in the order of their tasks, give `value`. */
  isInOrder: boolean;
}

export class LiveState {
  readonly #channels: Channels;
  readonly #values: Values = {};
  /** Those of the values that grow in place: nothing that is kept may hold one of them. */
  readonly #growing = new Set<unknown>();
  /** The patches of the super-step that is going, by task. */
  readonly #patches: (StatePatch | undefined)[] = [];
  #custom: Map<string, CustomWrites> | undefined;

  constructor(channels: Channels) {
    this.#channels = channels;
    for (const name of Object.keys(channels)) this.#put(name, own((channels[name] as Channel<Json>).initial));
  }

  #put(name: string, value: Json): void {
    const kind = this.#channels[name]?.kind;
    if (kind === "append" || kind === "merge") {
      this.#growing.delete(this.#values[name]);
      this.#growing.add(value);
    }
    this.#values[name] = value;
  }

  /** As it is; it changes in place when a super-step ends. */
  get values(): Readonly<Values> {
    return this.#values;
  }

  /** As it is, for somebody who keeps it. */
  copy(): JsonObject {
    const copy: Values = {};
    for (const name of Object.keys(this.#values)) copy[name] = own(this.#values[name] as Json);
    return copy;
  }

  /** Puts values in place of the initial ones: those of a checkpoint. Throws `graph_changed` where they do not fit. */
  restore(values: Json): void {
    if (!isJsonObject(values)) throw changed("the state is no object");
    for (const [name, value] of Object.entries(values)) {
      this.#assertFits(name, value);
      this.#put(name, own(value));
    }
  }

  /** Merges what a run begins with; of a subgraph it comes out of another state, that of the graph around it. */
  begin(input: unknown, around: LiveState = this): void {
    const patch = this.createPatch(input, "the input");
    this.add(0, around.#separate(patch));
    this.endStep();
  }

  /** What a node has written, as a patch; throws `node_failed` where it is nothing that could be stored. */
  createPatch(writes: unknown, author: string): StatePatch {
    const patch: MutablePatch = {};
    if (writes === undefined || writes === null) return patch;
    if (typeof writes !== "object" || Array.isArray(writes))
      throw new LoomError("node_failed", `${author} gave no object of channels`);
    for (const name in writes) {
      const write = (writes as { readonly [name: string]: unknown })[name];
      if (write === undefined) continue;
      if (!Object.hasOwn(this.#channels, name))
        throw new LoomError("node_failed", `${author} wrote to "${name}", which is no channel`, { channel: name });
      if (!this.#isOwn(name, write, author)) patch[name] = this.#readWrite(name, write, author);
    }
    return patch;
  }

  /** A channel was written the very object it holds, as by `{ ...state }`: nothing is new. Of a list it would be all. */
  #isOwn(name: string, write: unknown, author: string): boolean {
    if (typeof write !== "object" || write === null || write !== this.#values[name]) return false;
    const kind = this.#channels[name]?.kind;
    if (kind === "append")
      throw new LoomError(
        "graph_invalid",
        `${author} wrote to "${name}" the channel's own list; return only what is new`,
        { channel: name },
      );
    return kind !== "custom";
  }

  /** The value as JSON has it, and nothing in it that grows with the state; throws `node_failed` where there is none. */
  detach(value: unknown, what: string): Json {
    return this.#separate(toJson(value, what));
  }

  #separate<T extends Json | StatePatch>(value: T): T {
    return this.#growing.size > 0 && holdsAny(value, this.#growing) ? copyJson(value) : value;
  }

  #readWrite(name: string, write: unknown, author: string): ChannelPatch {
    const value = this.detach(write, `${author} wrote to "${name}"`);
    switch (this.#channels[name]?.kind) {
      case "append":
        if (Array.isArray(value)) return { append: value as readonly Json[] };
        throw new LoomError("node_failed", `${author} wrote to "${name}", which takes a list`, { channel: name });
      case "merge":
        if (isJsonObject(value)) return { merge: value };
        throw new LoomError("node_failed", `${author} wrote to "${name}", which takes an object`, { channel: name });
      case "custom":
        // The value comes when it is known which others have finished.
        return { set: null, write: value };
      default:
        return { set: value };
    }
  }

  /** Takes the patch of a task that has finished, and gives it as it is to be stored. */
  add(task: number, patch: StatePatch): StatePatch {
    this.#takeBack(task);
    let merged: MutablePatch | undefined;
    for (const name in patch) {
      if (this.#channels[name]?.kind !== "custom") continue;
      const { write = null } = patch[name] as { readonly write?: Json };
      (merged ??= { ...patch })[name] = { set: this.#merge(name, task, write), write };
    }
    const stored = merged ?? patch;
    this.#patches[task] = stored;
    return stored;
  }

  /** Takes the patch of a task that had finished before its process died. Throws `graph_changed` where it does not fit. */
  addStored(task: number, patch: Json): void {
    if (!isJsonObject(patch)) throw changed("an update is no object");
    for (const [name, change] of Object.entries(patch)) {
      const kind = this.#channels[name]?.kind;
      const field = kind === "append" || kind === "merge" ? kind : kind === "custom" ? "write" : "set";
      if (kind === undefined || !isJsonObject(change) || !Object.hasOwn(change, field))
        throw changed(`"${name}" was written in a way that the graph does not know`);
      if (kind !== "custom") continue;
      // What was stored was merged by the same function, or perhaps not.
      this.#merge(name, task, change["write"] as Json, false);
    }
    this.#patches[task] = patch as unknown as StatePatch;
  }

  /** Forgets what a task wrote in a try that came to nothing after all. */
  #takeBack(task: number): void {
    for (const [name, state] of this.#custom ?? []) {
      if (!state.writes.delete(task)) continue;
      state.value = this.#mergeAll(name, state);
      state.isInOrder = false;
    }
  }

  /** The value with all writes that have come so far, in the order of their tasks. */
  #merge(name: string, task: number, write: Json, isSure = true): Json {
    this.#custom ??= new Map();
    let state = this.#custom.get(name);
    if (state === undefined) {
      state = { writes: new Map(), value: this.#values[name] as Json, lastTask: -1, isInOrder: true };
      this.#custom.set(name, state);
    }
    state.writes.set(task, write);
    if (!isSure) state.isInOrder = false;
    if (task > state.lastTask) {
      state.lastTask = task;
      state.value = this.#reduce(name, state.value, write);
      return state.value;
    }
    state.isInOrder = false;
    // A wide step must not cost the square of its width.
    state.value =
      state.writes.size <= MAX_REMERGED ? this.#mergeAll(name, state) : this.#reduce(name, state.value, write);
    return state.value;
  }

  #mergeAll(name: string, { writes }: CustomWrites): Json {
    const tasks = [...writes.keys()].toSorted((a, b) => a - b);
    return tasks.reduce(
      (value, task) => this.#reduce(name, value, writes.get(task) as Json),
      this.#values[name] as Json,
    );
  }

  #reduce(name: string, value: Json, write: Json): Json {
    const reduced: unknown = (this.#channels[name] as Channel<Json>).reduce?.(value, write);
    return toJson(reduced, `the reducer of "${name}" gave`);
  }

  /** Merges the super-step, and gives what folding its patches alone would get wrong. */
  endStep(): StatePatch {
    for (const patch of this.#patches) if (patch !== undefined) this.#apply(patch);
    this.#patches.length = 0;
    if (this.#custom === undefined) return NO_CORRECTIONS;
    const corrections: MutablePatch = {};
    // Before the first is set: they begin with the values of before the step.
    for (const [name, state] of this.#custom) {
      const value = state.isInOrder ? state.value : this.#mergeAll(name, state);
      if (!state.isInOrder) corrections[name] = { set: value };
      this.#values[name] = value;
    }
    this.#custom = undefined;
    return corrections;
  }

  #apply(patch: StatePatch): void {
    for (const name in patch) {
      const change = patch[name] as ChannelPatch;
      if ("append" in change) {
        const list = this.#values[name] as Json[];
        for (const item of change.append) list.push(item);
      } else if ("merge" in change) {
        const object = this.#values[name] as Values;
        for (const key in change.merge) put(object, key, change.merge[key] as Json);
      } else if (!("write" in change)) this.#values[name] = change.set;
    }
  }

  #assertFits(name: string, value: Json): void {
    const kind = this.#channels[name]?.kind;
    if (kind === undefined || !Object.hasOwn(this.#channels, name)) throw changed(`there is no channel "${name}"`);
    if ((kind === "append" && !Array.isArray(value)) || (kind === "merge" && !isJsonObject(value)))
      throw changed(`channel "${name}" holds something else`);
  }
}

/** The value as JSON has it; throws `node_failed` where there is none. */
function toJson(value: unknown, what: string): Json {
  if (isPlainJson(value, MAX_DEPTH)) return value as Json;
  try {
    if (isDeeperThan(value, MAX_DEPTH)) throw new TypeError("it is nested too deeply");
    const copy = copyJson(value) as Json | undefined;
    if (copy !== undefined) return copy;
  } catch (cause) {
    throw new LoomError("node_failed", `${what} what JSON has no form for`, {}, { cause });
  }
  throw new LoomError("node_failed", `${what} what JSON has no form for`);
}

/** The value is one of these, or has one somewhere within. */
function holdsAny(value: unknown, objects: ReadonlySet<unknown>): boolean {
  if (typeof value !== "object" || value === null) return false;
  if (objects.has(value)) return true;
  const items: readonly unknown[] = Array.isArray(value) ? value : Object.values(value);
  for (const item of items) if (typeof item === "object" && holdsAny(item, objects)) return true;
  return false;
}

/** Lists and objects grow in place: they must be nobody else's. */
function own(value: Json): Json {
  if (Array.isArray(value)) return [...(value as readonly Json[])];
  return isJsonObject(value) ? { ...value } : value;
}

/** An entry of its own, also where the key is one that assigning would take for the prototype. */
function put(object: Values, key: string, value: Json): void {
  if (key === "__proto__")
    Object.defineProperty(object, key, { value, writable: true, enumerable: true, configurable: true });
  else object[key] = value;
}

function changed(message: string): LoomError {
  return new LoomError("graph_changed", `the graph is not the one that was left: ${message}`);
}
