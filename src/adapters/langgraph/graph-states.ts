/**
 * The states of a LangGraph run, as `values` events with deltas: whole states would make the log grow with the square of
 * the steps.
 *
 * Invariant: folding the events of a graph gives the state that LangGraph reported last.
 */
import type { Json, JsonObject } from "../../protocol/index.ts";
import type { ChannelPatch } from "../../protocol/state-patch.ts";
import type { SourceEvent } from "../source.ts";

/** JSON of each channel; of each item if the channel is a list. */
type KnownState = ReadonlyMap<string, string | readonly string[]>;

export class GraphStates {
  readonly #emit: (event: SourceEvent) => void;
  readonly #states = new Map<string, KnownState>();

  constructor(emit: (event: SourceEvent) => void) {
    this.#emit = emit;
  }

  /** Adds the state of a graph. `ns` is the path of the subgraph. */
  add(ns: string, state: JsonObject): void {
    const place = ns === "" ? {} : { checkpoint_ns: ns };
    const before = this.#states.get(ns);
    const after = readChannels(state);
    this.#states.set(ns, after);
    // A channel that is gone cannot be written as a patch.
    if (before === undefined || [...before.keys()].some((name) => !after.has(name))) {
      this.#emit({ type: "values", state, ...place, delta: false });
      return;
    }
    const patch = createPatch(state, before, after);
    if (Object.keys(patch).length > 0) this.#emit({ type: "values", state: patch, ...place, delta: true });
  }
}

function readChannels(state: JsonObject): KnownState {
  return new Map(
    Object.entries(state).map(([name, value]) => [
      name,
      Array.isArray(value) ? value.map((item: Json) => JSON.stringify(item)) : JSON.stringify(value),
    ]),
  );
}

function createPatch(state: JsonObject, before: KnownState, after: KnownState): { [channel: string]: ChannelPatch } {
  const patch: { [channel: string]: ChannelPatch } = {};
  for (const [name, value] of Object.entries(state)) {
    const old = before.get(name);
    const now = after.get(name) as string | readonly string[];
    if (typeof old === "object" && typeof now === "object" && old.every((item, index) => item === now[index])) {
      if (now.length > old.length) patch[name] = { append: (value as readonly Json[]).slice(old.length) };
    } else if (typeof now === "object" || now !== old) patch[name] = { set: value };
  }
  return patch;
}
