/**
 * Graph states as patches: logs store what changed instead of the full state after each step.
 *
 * A `checkpoint` or `values` event without `delta: true` holds the full state; the first one that deltas follow has
 * `delta: false`. After it, with `delta: true`:
 * - `updates` holds the patch of one node run, relative to the state at the start of its super-step.
 * - `values` and `checkpoint` hold what to apply after all updates of the super-step, in `task` order; usually nothing.
 *   A `checkpoint` that follows the `values` of its step is applied after them.
 *
 * Patches can come from untrusted streams: malformed parts are ignored, and nothing here throws.
 */
import { isJsonObject, type Json, type JsonObject, setOwn } from "./json.ts";

/** The change of one channel. */
export type ChannelPatch =
  /**
   * Replaces the value. `write` is the value the node returned, if the graph uses a custom reducer: merging again needs
   * it.
   */
  | { readonly set: Json; readonly write?: Json }
  /** Appends these items to the list. */
  | { readonly append: readonly Json[] }
  /** Adds these entries to the object, replacing those with the same key. */
  | { readonly merge: JsonObject };

/** Keyed by channel. */
export interface StatePatch {
  readonly [channel: string]: ChannelPatch;
}

/**
 * A state that is patched repeatedly. Growing lists and objects are changed in place, so a patch costs its own size;
 * values that other code may hold are copied before their first change.
 */
export class PatchedState {
  #value: Json;
  /** Channels whose value is not shared with other code. */
  readonly #owned = new Set<string>();
  #ownsState = false;

  constructor(value: Json) {
    this.#value = value;
  }

  /** Returns the current state. It does not change afterwards: later patches copy first. */
  read(): Json {
    this.#ownsState = false;
    this.#owned.clear();
    return this.#value;
  }

  /** Returns the current value of one channel. Like the result of `read`, it does not change afterwards. */
  readChannel(channel: string): Json | undefined {
    this.#owned.delete(channel);
    return isJsonObject(this.#value) && Object.hasOwn(this.#value, channel) ? this.#value[channel] : undefined;
  }

  /** Applies a patch. Malformed parts are ignored. */
  apply(patch: Json): void {
    if (!isJsonObject(patch)) return;
    for (const channel of Object.keys(patch)) this.#change(channel, patch[channel]);
  }

  /** Applies only the part of the patch for one channel. */
  applyTo(channel: string, patch: Json): void {
    if (isJsonObject(patch) && Object.hasOwn(patch, channel)) this.#change(channel, patch[channel]);
  }

  #change(channel: string, change: Json | undefined): void {
    if (!isJsonObject(change)) return;
    if (Object.hasOwn(change, "set")) {
      setOwn(this.#own(), channel, change["set"] as Json);
      this.#owned.delete(channel);
    } else if (Array.isArray(change["append"])) {
      const list = this.#ownList(channel);
      for (const item of change["append"] as Json[]) list.push(item);
    } else if (isJsonObject(change["merge"])) {
      const object = this.#ownObject(channel);
      for (const key of Object.keys(change["merge"])) setOwn(object, key, change["merge"][key] as Json);
    }
  }

  #own(): MutableObject {
    if (!this.#ownsState) this.#value = isJsonObject(this.#value) ? { ...this.#value } : {};
    this.#ownsState = true;
    return this.#value as MutableObject;
  }

  #ownList(channel: string): Json[] {
    const state = this.#own();
    const known = Object.hasOwn(state, channel) ? state[channel] : undefined;
    if (this.#owned.has(channel) && Array.isArray(known)) return known as Json[];
    const list: Json[] = Array.isArray(known) ? (known as Json[]).slice() : [];
    setOwn(state, channel, list);
    this.#owned.add(channel);
    return list;
  }

  #ownObject(channel: string): MutableObject {
    const state = this.#own();
    const known = Object.hasOwn(state, channel) ? state[channel] : undefined;
    if (this.#owned.has(channel) && isJsonObject(known)) return known;
    const object: MutableObject = isJsonObject(known) ? { ...known } : {};
    setOwn(state, channel, object);
    this.#owned.add(channel);
    return object;
  }
}

interface MutableObject {
  [key: string]: Json;
}
