/**
 * The graph states of one turn. States sent as deltas are shown as full states. They are assembled only on demand,
 * because copying the state at every step would be expensive. Incomplete states are not shown.
 */
import { type Json, StateFold } from "../../protocol/index.ts";
import { isJsonObject } from "../../protocol/json.ts";
import type { CheckpointEvent, UpdatesEvent, ValuesEvent } from "../../protocol/events.generated.ts";
import { isDelta } from "../../protocol/state-fold.ts";
import type { ViewQuota } from "./growing-list.ts";

/** Maximum number of list and object entries that all `updates` of a turn may show when assembled from deltas. */
const MAX_ENTRIES = 1_000_000;

export class TurnStates {
  readonly #quota: ViewQuota;
  readonly #fold = new StateFold();
  #entries = 0;
  /**
   * Where the latest root `values` is, if `#values` is outdated: the current state of the fold, or its state at the
   * start of the super-step.
   */
  #pendingValues: "no" | "now" | "base" = "no";
  #values: Json | undefined;

  constructor(quota: ViewQuota) {
    this.#quota = quota;
  }

  /** The state as last reported by `values`. */
  get values(): Json | undefined {
    if (this.#pendingValues !== "no") {
      const found = this.#fold.find();
      if (found?.isComplete !== true) this.#values = undefined;
      else this.#values = this.#pendingValues === "now" ? found.state : found.base;
      this.#pendingValues = "no";
    }
    return this.#values;
  }

  /** Returns the channels written by a node, after the merge, or the whole state if the sender does not name them; undefined if unknown or too large. */
  update(event: UpdatesEvent): Json | undefined {
    // It stores a result for recovery and reports no merge.
    if (event.delta === false) return undefined;
    if (!isDelta(event)) return event.written ?? event.state;
    if (isRoot(event) && this.#pendingValues === "now") this.#pendingValues = "base";
    this.#fold.add(event);
    const written = this.#entries < MAX_ENTRIES ? this.#fold.readWritten(event) : undefined;
    if (written === undefined) {
      this.#quota.omit();
      return undefined;
    }
    for (const value of Object.values(written)) this.#entries += 1 + countEntries(value);
    return written;
  }

  report(event: ValuesEvent): void {
    this.#fold.add(event);
    if (isRoot(event)) this.#pendingValues = "now";
  }

  checkpoint(event: CheckpointEvent): void {
    if (isRoot(event) && this.#pendingValues !== "no") {
      // A checkpoint may contain changes that `values` did not report, so keep the state before it.
      const isSame = isDelta(event) && isJsonObject(event.state) && Object.keys(event.state).length === 0;
      if (isSame && this.#pendingValues === "now") this.#pendingValues = "base";
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
