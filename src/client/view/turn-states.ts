/**
 * The graph states of one turn. Where they come as what changed they are shown as if they had come whole, and put
 * together only when somebody looks: a long run is not to copy its state at every step. What is not whole is not shown.
 */
import {
  type CheckpointEvent,
  isDelta,
  isJsonObject,
  type Json,
  StateFold,
  type UpdatesEvent,
  type ValuesEvent,
} from "../../protocol/index.ts";
import type { Room } from "./growing-list.ts";

/** Entries of lists and objects that all `updates` of a turn may show where they came as what changed. */
const MAX_ENTRIES = 1_000_000;

export class TurnStates {
  readonly #room: Room;
  readonly #fold = new StateFold();
  #entries = 0;
  /** The root's last `values` is not in `#values` yet, but in the fold: now, or at the beginning of the super-step. */
  #waits: "no" | "now" | "base" = "no";
  #values: Json | undefined;

  constructor(room: Room) {
    this.#room = room;
  }

  /** The state as `values` last told it. */
  get values(): Json | undefined {
    if (this.#waits !== "no") {
      const found = this.#fold.find();
      if (found?.isWhole !== true) this.#values = undefined;
      else this.#values = this.#waits === "now" ? found.state : found.base;
      this.#waits = "no";
    }
    return this.#values;
  }

  /** The channels it wrote, after the merge; undefined where that is not known, or more than can be shown. */
  update(event: UpdatesEvent): Json | undefined {
    // What a part of a node has given is not what the node wrote.
    if (event.delta === false) return undefined;
    if (!isDelta(event)) return event.state;
    if (isRoot(event) && this.#waits === "now") this.#waits = "base";
    this.#fold.add(event);
    const shown = this.#entries < MAX_ENTRIES ? (this.#fold.show(event) as UpdatesEvent | undefined) : undefined;
    if (shown === undefined) {
      this.#room.omit();
      return undefined;
    }
    for (const value of Object.values(shown.state as object)) this.#entries += 1 + countEntries(value);
    return shown.state;
  }

  report(event: ValuesEvent): void {
    this.#fold.add(event);
    if (isRoot(event)) this.#waits = "now";
  }

  checkpoint(event: CheckpointEvent): void {
    if (isRoot(event) && this.#waits !== "no") {
      // What it changes itself, or merges of what came since, was not told by `values`.
      const isSame = isDelta(event) && isJsonObject(event.state) && Object.keys(event.state).length === 0;
      if (isSame && this.#waits === "now") this.#waits = "base";
      else this.#values = this.values;
    }
    this.#fold.add(event);
  }
}

function isRoot({ checkpoint_ns = "" }: { readonly checkpoint_ns?: string }): boolean {
  return checkpoint_ns === "";
}

function countEntries(value: unknown): number {
  if (Array.isArray(value)) return value.length;
  return isJsonObject(value) ? Object.keys(value).length : 0;
}
