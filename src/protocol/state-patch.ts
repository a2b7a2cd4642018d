/**
 * How a graph's state changes, as data: what a log holds in place of the whole state after each step. It knows no graph,
 * no reducer and no log.
 *
 * A `checkpoint` or `values` without `delta: true` holds the state whole; the first of a row of deltas says `delta: false`.
 * After it, with `delta: true`:
 * - `updates` has the patch of one node run, against the state at the beginning of its super-step;
 * - `values` and `checkpoint` have what must be patched after all updates of the super-step were, in the order of their
 *   `task`; most often nothing. A `checkpoint` after the `values` of its step is patched after these.
 *
 * Patches come from wires too: what is malformed in one is passed over, and nothing here throws.
 */
import { isJsonObject, type Json, type JsonObject } from "./json.ts";

export type ChannelPatch =
  /** The value is this. `write` is what the node gave, where the reducer is the graph's own: merging again needs it. */
  | { readonly set: Json; readonly write?: Json }
  /** The list has these at its end. */
  | { readonly append: readonly Json[] }
  /** The object has these entries, new or in place of old ones. */
  | { readonly merge: JsonObject };

/** By channel. */
export interface StatePatch {
  readonly [channel: string]: ChannelPatch;
}

/** The state after the patch; the one before stays as it is. */
export function applyPatch(state: Json, patch: Json): Json {
  const patched = new PatchedState(state);
  patched.apply(patch);
  return patched.read();
}

/**
 * A state that is patched over and over. Lists and objects that grow are changed in place, so that a patch costs what it
 * holds; those that somebody else may have are copied when they first grow.
 */
export class PatchedState {
  #value: Json;
  /** Channels whose value nobody else has. */
  readonly #owned = new Set<string>();
  #ownsState = false;

  constructor(value: Json) {
    this.#value = value;
  }

  /** As it is now. It stays so: what is patched afterwards is copied first. */
  read(): Json {
    this.#ownsState = false;
    this.#owned.clear();
    return this.#value;
  }

  /** The value of one channel, under the same condition. */
  readChannel(channel: string): Json | undefined {
    this.#owned.delete(channel);
    return isJsonObject(this.#value) && Object.hasOwn(this.#value, channel) ? this.#value[channel] : undefined;
  }

  apply(patch: Json): void {
    if (!isJsonObject(patch)) return;
    for (const channel of Object.keys(patch)) this.#change(channel, patch[channel]);
  }

  /** The part of the patch that is about one channel. */
  applyTo(channel: string, patch: Json): void {
    if (isJsonObject(patch) && Object.hasOwn(patch, channel)) this.#change(channel, patch[channel]);
  }

  #change(channel: string, change: Json | undefined): void {
    if (!isJsonObject(change)) return;
    if (Object.hasOwn(change, "set")) {
      put(this.#own(), channel, change["set"] as Json);
      this.#owned.delete(channel);
    } else if (Array.isArray(change["append"])) {
      const list = this.#ownList(channel);
      for (const item of change["append"] as Json[]) list.push(item);
    } else if (isJsonObject(change["merge"])) {
      const object = this.#ownObject(channel);
      for (const key of Object.keys(change["merge"])) put(object, key, change["merge"][key] as Json);
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
    put(state, channel, list);
    this.#owned.add(channel);
    return list;
  }

  #ownObject(channel: string): MutableObject {
    const state = this.#own();
    const known = Object.hasOwn(state, channel) ? state[channel] : undefined;
    if (this.#owned.has(channel) && isJsonObject(known)) return known;
    const object: MutableObject = isJsonObject(known) ? { ...known } : {};
    put(state, channel, object);
    this.#owned.add(channel);
    return object;
  }
}

interface MutableObject {
  [key: string]: Json;
}

/** An entry of its own, also where the key is one that assigning would take for the prototype. */
function put(object: MutableObject, key: string, value: Json): void {
  if (key === "__proto__")
    Object.defineProperty(object, key, { value, writable: true, enumerable: true, configurable: true });
  else object[key] = value;
}
