/**
 * The writes of the node runs in one super-step, merged in task order regardless of the order in which they finished.
 *
 * Performance: adding is O(size of the write). Reading a channel costs the writes since it was last set; if tasks
 * finish in order, only the writes since the last read.
 */
import { isJsonObject, type Json, type JsonObject } from "./json.ts";
import { PatchedState } from "./state-patch.ts";

/** Writes of a node run in the current super-step. */
export interface PendingWrites {
  /** Position in the merge order. */
  readonly task: number;
  /** Name of the node. */
  readonly id: string;
  /** Keyed by channel; see `StatePatch`. Not validated. */
  readonly patch: Json;
}

/** The writes that determine one channel: the last `set`, if any, and everything merged after it. */
interface ChannelWrites {
  setBy: number;
  writes: PendingWrites[];
  isSorted: boolean;
  /** The base with the first `applied` writes merged in. */
  merged: PatchedState | undefined;
  applied: number;
}

/** Merges the writes of one super-step. */
export class SuperStep {
  readonly #base: PatchedState;
  readonly #arrived: PendingWrites[];
  #sorted: readonly PendingWrites[] | undefined;
  readonly #channels = new Map<string, ChannelWrites>();
  /** Number of entries in `#arrived` that are already in `#channels`. */
  #indexed = 0;

  /** `base` must not change while this super-step is read. `arrived` has the writes so far, in order of arrival. */
  constructor(base: PatchedState, arrived: readonly PendingWrites[] = []) {
    this.#base = base;
    this.#arrived = [...arrived];
  }

  /** In order of arrival. */
  get arrived(): readonly PendingWrites[] {
    return this.#arrived;
  }

  get size(): number {
    return this.#arrived.length;
  }

  /** Sorted by task; writes of the same task are in order of arrival. */
  get writes(): readonly PendingWrites[] {
    this.#sorted ??= this.#arrived.toSorted(byTask);
    return this.#sorted;
  }

  add(writes: PendingWrites): void {
    this.#arrived.push(writes);
    this.#sorted = undefined;
  }

  /** Returns the whole state with the writes so far. Costs its channels, and the writes since they were last read. */
  readState(): JsonObject {
    this.#indexArrived();
    const base = this.#base.read();
    const state = new Map(isJsonObject(base) ? Object.entries(base) : []);
    for (const channel of this.#channels.keys()) {
      const value = this.#readChannel(channel);
      if (value !== undefined) state.set(channel, value);
    }
    return Object.fromEntries(state);
  }

  /** Returns the current values of the channels named in `patch`. */
  readWritten(patch: Json): JsonObject {
    this.#indexArrived();
    if (!isJsonObject(patch)) return {};
    const written: [string, Json][] = [];
    for (const channel of Object.keys(patch)) {
      const value = this.#readChannel(channel);
      if (value !== undefined) written.push([channel, value]);
    }
    return Object.fromEntries(written);
  }

  #indexArrived(): void {
    for (; this.#indexed < this.#arrived.length; this.#indexed++) this.#index(this.#arrived[this.#indexed]);
  }

  #index(writes: PendingWrites | undefined): void {
    if (writes === undefined || !isJsonObject(writes.patch)) return;
    for (const channel of Object.keys(writes.patch)) {
      let known = this.#channels.get(channel);
      if (known === undefined) {
        known = { setBy: Number.NEGATIVE_INFINITY, writes: [], isSorted: true, merged: undefined, applied: 0 };
        this.#channels.set(channel, known);
      }
      note(known, writes, writes.patch[channel]);
    }
  }

  #readChannel(channel: string): Json | undefined {
    const known = this.#channels.get(channel);
    if (known === undefined) return this.#base.readChannel(channel);
    if (!known.isSorted) known.writes.sort(byTask);
    known.isSorted = true;
    if (known.merged === undefined) {
      const value = this.#base.readChannel(channel);
      known.merged = new PatchedState(value === undefined ? {} : Object.fromEntries([[channel, value]]));
      known.applied = 0;
    }
    for (; known.applied < known.writes.length; known.applied++)
      known.merged.applyTo(channel, known.writes[known.applied]?.patch ?? null);
    return known.merged.readChannel(channel);
  }
}

function note(known: ChannelWrites, writes: PendingWrites, change: Json | undefined): void {
  const { task } = writes;
  if (task < known.setBy) return;
  const isSet = isJsonObject(change) && Object.hasOwn(change, "set");
  if (isSet) {
    known.setBy = task;
    known.writes = known.writes.filter((other) => other.task > task);
  }
  const isLast = (known.writes.at(-1)?.task ?? task) <= task;
  known.writes.push(writes);
  if (!isLast) known.isSorted = false;
  if (isSet || !isLast) known.merged = undefined;
}

function byTask(a: PendingWrites, b: PendingWrites): number {
  return a.task - b.task;
}
