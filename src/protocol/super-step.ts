/**
 * What the node runs of one super-step have written so far, merged in the order of their task, in whatever order they
 * finished. It knows no event.
 *
 * Invariant: adding costs what is added. Reading a channel costs what was written to it since it was last set, and where
 * tasks finish in their order, only what came since it was last read.
 */
import { isJsonObject, type Json, type JsonObject } from "./json.ts";
import { PatchedState } from "./state-patch.ts";

/** What a node run of the super-step that is going has written. */
export interface PendingWrites {
  /** Its place in the order of merging. */
  readonly task: number;
  /** Name of the node. */
  readonly id: string;
  /** By channel; see `StatePatch`. Not checked. */
  readonly patch: Json;
}

/** What counts for one channel: the last that set it, if any did, and what is merged after that. */
interface ChannelWrites {
  setBy: number;
  writes: PendingWrites[];
  isSorted: boolean;
  /** The first `applied` of them on the base. */
  merged: PatchedState | undefined;
  applied: number;
}

export class SuperStep {
  readonly #base: PatchedState;
  /** As they came. */
  readonly #arrived: PendingWrites[] = [];
  #sorted: readonly PendingWrites[] | undefined;
  readonly #channels = new Map<string, ChannelWrites>();
  /** So many of those that arrived are in `#channels`. */
  #indexed = 0;

  /** `base` is not patched as long as this is read. */
  constructor(base: PatchedState) {
    this.#base = base;
  }

  get size(): number {
    return this.#arrived.length;
  }

  /** By task; of one task, as they came. */
  get writes(): readonly PendingWrites[] {
    this.#sorted ??= this.#arrived.toSorted(byTask);
    return this.#sorted;
  }

  add(writes: PendingWrites): void {
    this.#arrived.push(writes);
    this.#sorted = undefined;
  }

  /** The channels that `patch` names, as they are now. */
  readWritten(patch: Json): JsonObject {
    for (; this.#indexed < this.#arrived.length; this.#indexed++) this.#index(this.#arrived[this.#indexed]);
    if (!isJsonObject(patch)) return {};
    const written: [string, Json][] = [];
    for (const channel of Object.keys(patch)) {
      const value = this.#readChannel(channel);
      if (value !== undefined) written.push([channel, value]);
    }
    return Object.fromEntries(written);
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
