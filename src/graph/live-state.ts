/**
 * The state of a running graph. The writes of nodes become patches, which are merged in task order. Lists and objects
 * grow in place, so a step costs what it writes and not what the state holds. It knows no nodes and no log.
 *
 * Invariant: folding its patches in task order, and then its corrections, gives its values.
 */
import { type Json, type JsonObject, LoomError } from "../protocol/index.ts";
import type { ChannelPatch, StatePatch } from "../protocol/state-patch.ts";
import type { Channel, Channels } from "./graph.ts";
import {
  copyJson,
  isDeeperThan,
  isJsonObject,
  isPlainJson,
  MAX_JSON_DEPTH,
  repairJson,
  setOwn,
} from "../protocol/json.ts";

type Values = { [channel: string]: Json };
type MutablePatch = { [channel: string]: ChannelPatch };

export const NO_CORRECTIONS: StatePatch = {};

/**
 * Maximum writes to a custom channel that are merged again when one arrives out of task order. Beyond it, the order is
 * restored when the step ends.
 */
const MAX_REMERGED = 256;

/** An event nests the value some levels down, and has the same depth limit. */
const MAX_DEPTH = MAX_JSON_DEPTH - 8;

/** Writes to a custom channel in the current super-step. */
interface CustomWrites {
  /** By task. */
  readonly writes: Map<number, Json>;
  /** All writes merged, as far as they arrived in task order. */
  value: Json;
  lastTask: number;
  /** True if folding the patches in task order gives `value`. */
  isInOrder: boolean;
}

/** The values of a graph's channels, and the writes of the current super-step. */
export class LiveState {
  readonly #channels: Channels;
  readonly #values: Values = {};
  /** The values that grow in place. Nothing that is kept may contain one of them. */
  readonly #growing = new Set<unknown>();
  /** The patches of the current super-step, by task. */
  readonly #patches: (StatePatch | undefined)[] = [];
  #custom: Map<string, CustomWrites> | undefined;

  constructor(channels: Channels) {
    this.#channels = channels;
    for (const name of Object.keys(channels)) this.#put(name, shallowCopy((channels[name] as Channel<Json>).initial));
  }

  #put(name: string, value: Json): void {
    const kind = this.#channels[name]?.kind;
    if (kind === "append" || kind === "merge") {
      this.#growing.delete(this.#values[name]);
      this.#growing.add(value);
    }
    this.#values[name] = value;
  }

  /** The current values. They change in place when a super-step ends. */
  get values(): Readonly<Values> {
    return this.#values;
  }

  /** A copy that the caller may keep. */
  copy(): JsonObject {
    const copy: Values = {};
    for (const name of Object.keys(this.#values)) copy[name] = shallowCopy(this.#values[name] as Json);
    return copy;
  }

  /** Sets the values of a checkpoint. Throws `graph_changed` if they do not fit the channels. */
  restore(values: Json): void {
    if (!isJsonObject(values)) throw graphChanged("the state is not an object");
    for (const [name, value] of Object.entries(values)) {
      this.#assertFits(name, value);
      this.#put(name, shallowCopy(value));
    }
  }

  /** Merges the input of the run. `around` is the state of the parent graph, for a subgraph. */
  begin(input: unknown, around: LiveState = this): void {
    const patch = this.createPatch(input, "The input");
    this.add(0, around.#copyShared(patch));
    this.endStep();
  }

  /** Converts the writes of a node to a patch. Throws `node_failed` if they cannot be stored. */
  createPatch(writes: unknown, author: string): StatePatch {
    const patch: MutablePatch = {};
    if (writes === undefined || writes === null) return patch;
    if (typeof writes !== "object" || Array.isArray(writes))
      throw new LoomError("node_failed", `${author}: the writes must be an object with a value per channel`);
    for (const name in writes) {
      const write = (writes as { readonly [name: string]: unknown })[name];
      if (write === undefined) continue;
      if (!Object.hasOwn(this.#channels, name))
        throw new LoomError("node_failed", `${author}: "${name}" is not a channel`, { channel: name });
      if (!this.#isUnchanged(name, write, author)) patch[name] = this.#readWrite(name, write, author);
    }
    return patch;
  }

  /** True if the write is the channel's own object, as in `{ ...state }`. Appending a list to itself is an error. */
  #isUnchanged(name: string, write: unknown, author: string): boolean {
    if (typeof write !== "object" || write === null || write !== this.#values[name]) return false;
    const kind = this.#channels[name]?.kind;
    if (kind === "append")
      throw new LoomError(
        "graph_invalid",
        `${author} wrote the whole list back to "${name}"; return only the new items`,
        { channel: name },
      );
    return kind !== "custom";
  }

  /**
   * Converts a value to JSON that shares nothing with the growing state. Throws `node_failed` if that is not possible.
   */
  detach(value: unknown, what: string): Json {
    return this.#copyShared(toJson(value, what));
  }

  #copyShared<T extends Json | StatePatch>(value: T): T {
    return this.#growing.size > 0 && holdsAny(value, this.#growing) ? copyJson(value) : value;
  }

  #readWrite(name: string, write: unknown, author: string): ChannelPatch {
    const value = this.detach(write, `${author}: the write to "${name}"`);
    switch (this.#channels[name]?.kind) {
      case "append":
        if (Array.isArray(value)) return { append: value as readonly Json[] };
        throw new LoomError("node_failed", `${author}: the write to "${name}" must be a list`, { channel: name });
      case "merge":
        if (isJsonObject(value)) return { merge: value };
        throw new LoomError("node_failed", `${author}: the write to "${name}" must be an object`, { channel: name });
      case "custom":
        // `add` computes the value, from the writes of all finished tasks.
        return { set: null, write: value };
      default:
        return { set: value };
    }
  }

  /** Adds the patch of a finished task, and returns it in the form to store. */
  add(task: number, patch: StatePatch): StatePatch {
    this.#forget(task);
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

  /** Adds a stored patch of a task that finished before its process died. Throws `graph_changed` if it does not fit. */
  addStored(task: number, patch: Json): void {
    if (!isJsonObject(patch)) throw graphChanged("a stored update is not an object");
    for (const [name, change] of Object.entries(patch)) {
      const kind = this.#channels[name]?.kind;
      const field = kind === "append" || kind === "merge" ? kind : kind === "custom" ? "write" : "set";
      if (kind === undefined || !isJsonObject(change) || !Object.hasOwn(change, field))
        throw graphChanged(`the stored write to "${name}" does not fit its channel`);
      if (kind !== "custom") continue;
      // The stored value may come from another version of the reducer.
      this.#merge(name, task, change["write"] as Json, false);
    }
    this.#patches[task] = patch as unknown as StatePatch;
  }

  /** Removes what a task wrote in a failed attempt. */
  #forget(task: number): void {
    for (const [name, state] of this.#custom ?? []) {
      if (!state.writes.delete(task)) continue;
      state.value = this.#mergeAll(name, state);
      state.isInOrder = false;
    }
  }

  /** Returns the value after all writes so far, merged in task order if there are few. */
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
    // Keeps the cost of a wide step linear.
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
    return toJson(reduced, `The value returned by the reducer of "${name}"`);
  }

  /** Merges the super-step. Returns the corrections: values that folding the patches alone would get wrong. */
  endStep(): StatePatch {
    for (const patch of this.#patches) if (patch !== undefined) this.#apply(patch);
    this.#patches.length = 0;
    if (this.#custom === undefined) return NO_CORRECTIONS;
    const corrections: MutablePatch = {};
    // A merge starts from the value before the step.
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
        for (const key in change.merge) setOwn(object, key, change.merge[key] as Json);
      } else if (!("write" in change)) this.#values[name] = change.set;
    }
  }

  #assertFits(name: string, value: Json): void {
    const kind = this.#channels[name]?.kind;
    if (kind === undefined || !Object.hasOwn(this.#channels, name)) throw graphChanged(`there is no channel "${name}"`);
    if ((kind === "append" && !Array.isArray(value)) || (kind === "merge" && !isJsonObject(value)))
      throw graphChanged(`the stored value of channel "${name}" does not fit its kind`);
  }
}

/** Converts a value to JSON. Throws `node_failed` if that is not possible. */
function toJson(value: unknown, what: string): Json {
  if (isPlainJson(value, MAX_DEPTH)) return value as Json;
  try {
    if (isDeeperThan(value, MAX_DEPTH)) throw new TypeError("it is nested too deeply");
    const copy = repairJson(value) as Json | undefined;
    if (copy !== undefined) return copy;
  } catch (cause) {
    throw new LoomError("node_failed", `${what} cannot be written as JSON`, {}, { cause });
  }
  throw new LoomError("node_failed", `${what} cannot be written as JSON`);
}

/** True if the value is, or contains, one of the objects. */
function holdsAny(value: unknown, objects: ReadonlySet<unknown>): boolean {
  if (typeof value !== "object" || value === null) return false;
  if (objects.has(value)) return true;
  const items: readonly unknown[] = Array.isArray(value) ? value : Object.values(value);
  for (const item of items) if (typeof item === "object" && holdsAny(item, objects)) return true;
  return false;
}

/** Copies lists and objects one level deep, because they grow in place. */
function shallowCopy(value: Json): Json {
  if (Array.isArray(value)) return [...(value as readonly Json[])];
  return isJsonObject(value) ? { ...value } : value;
}

export function graphChanged(message: string): LoomError {
  return new LoomError("graph_changed", `The graph differs from the stored one: ${message}`);
}
