/**
 * Restores the graph states of one run from its events, including states stored as deltas. Knows no reducer and no log,
 * and runs in browsers.
 *
 * Invariants:
 * - `add` costs the size of the event, regardless of the length of the run and the width of the super-step. The end of
 *   a super-step costs what was written in it. Only `withFullState` and `find` cost the size of the state.
 * - The same events give the same states. Malformed events are ignored; nothing throws.
 * - A partial state is never reported as full: if an earlier state is unknown, there is no result.
 * - Memory is bounded by the live states and the limits. A subgraph is live until the `updates` of its node.
 */
import type { CheckpointEvent, UpdatesEvent, ValuesEvent } from "./events.generated.ts";
import type { Json, JsonObject } from "./json.ts";
import type { AnyEvent } from "./record.ts";
import { PatchedState } from "./state-patch.ts";
import { type PendingWrites, SuperStep } from "./super-step.ts";

/** Limits of a `StateFold`. */
export interface StateFoldOptions {
  /** Maximum number of live subgraphs; the states of further ones are unknown. Default: 100,000. */
  readonly maxNamespaces?: number;
  /**
   * Maximum number of pending node runs in one super-step; beyond it they are merged in order of arrival.
   * Default: 100,000.
   */
  readonly maxPending?: number;
}

const MAX_NAMESPACES = 100_000;
const MAX_PENDING = 100_000;

/** The state of a graph or subgraph. */
export interface GraphState {
  /** The current state, with all pending writes merged. */
  readonly state: Json;
  /** The state at the start of the super-step, which is the state of the last checkpoint. */
  readonly base: Json;
  /** Writes of the current super-step, sorted by task. */
  readonly pending: readonly PendingWrites[];
  /** The last checkpoint event, as added. */
  readonly checkpoint: CheckpointEvent | undefined;
  /** False if no full state was received; `state` is then built from deltas only. */
  readonly isComplete: boolean;
}

interface Namespace {
  base: PatchedState;
  pending: SuperStep;
  /**
   * The `values` event that ended the super-step. `base` and `pending` are kept until the checkpoint, because a resumed
   * run needs them.
   */
  closing: { readonly state: Json; readonly isComplete: boolean } | undefined;
  checkpoint: CheckpointEvent | undefined;
  isComplete: boolean;
  /** Paths of the subgraphs inside it. */
  readonly children: Set<string>;
}

/** The state of a `StateFold`: plain data that can be stored. */
export interface SavedStateFold {
  readonly root: SavedNamespace;
  readonly nested: ReadonlyMap<string, SavedNamespace>;
}

interface SavedNamespace extends Pick<Namespace, "closing" | "checkpoint" | "isComplete"> {
  readonly base: Json;
  readonly arrived: readonly PendingWrites[];
  readonly children: ReadonlySet<string>;
}

type StateEvent = UpdatesEvent | ValuesEvent | CheckpointEvent;

/** True if the event stores its state as a delta. */
export function isDelta(event: AnyEvent): boolean {
  return isStateEvent(event) && event.delta === true;
}

/** True for an `updates` event that stores the result of a part of a node for recovery. It reports no merge. */
function isPartResult(event: AnyEvent): boolean {
  return event.type === "updates" && (event as UpdatesEvent).delta === false;
}

/** True for `updates`, `values` and `checkpoint`. */
export function isStateEvent(event: AnyEvent): event is StateEvent {
  return event.type === "updates" || event.type === "values" || event.type === "checkpoint";
}

/** Restores the full graph states of one run from its events. Add every event in order. */
export class StateFold {
  readonly #maxPending: number;
  readonly #maxNamespaces: number;
  #root = restoreNamespace(EMPTY);
  readonly #nested = new Map<string, Namespace>();

  constructor({ maxNamespaces = MAX_NAMESPACES, maxPending = MAX_PENDING }: StateFoldOptions = {}) {
    this.#maxNamespaces = maxNamespaces;
    this.#maxPending = maxPending;
  }

  /** Continues a saved fold with the default limits. @internal */
  static restore({ root, nested }: SavedStateFold): StateFold {
    const fold = new StateFold();
    fold.#root = restoreNamespace(root);
    for (const [ns, space] of nested) fold.#nested.set(ns, restoreNamespace(space));
    return fold;
  }

  /** Returns the state. Clone or serialize it before the next event. @internal */
  save(): SavedStateFold {
    const nested = new Map<string, SavedNamespace>();
    for (const [ns, space] of this.#nested) nested.set(ns, saveNamespace(space));
    return { root: saveNamespace(this.#root), nested };
  }

  /** Adds the next event of the run. */
  add(event: AnyEvent): void {
    if (!isStateEvent(event)) return;
    const ns = event.checkpoint_ns ?? "";
    if (event.type === "updates") {
      if (event.delta === true) this.#addWrites(ns, event);
      return;
    }
    const space = this.#open(ns);
    if (space === undefined) return;
    const { state, delta } = event;
    const isComplete = delta !== true;
    if (isComplete) space.isComplete = true;
    if (event.type === "values") {
      // A second `values` without a checkpoint in between is relative to the first.
      if (space.closing !== undefined) settle(space);
      space.closing = { state, isComplete };
      return;
    }
    if (isComplete) begin(space, state);
    else {
      settle(space);
      space.base.apply(state);
    }
    space.checkpoint = event;
    // All subgraphs of a super-step are finished when it ends.
    for (const child of space.children) this.#release(child);
    space.children.clear();
  }

  #addWrites(ns: string, { id, state: patch, task = Number.MAX_SAFE_INTEGER }: UpdatesEvent): void {
    const space = this.#open(ns);
    if (space === undefined) return;
    if (space.closing !== undefined || space.pending.size >= this.#maxPending) settle(space);
    space.pending.add({ task, id, patch });
    // The subgraph of this node run, if any, is finished.
    const child = `${ns === "" ? "" : `${ns}|`}${id}:${Number(space.checkpoint?.step ?? 0) + 1}.${task}`;
    if (space.children.delete(child)) this.#release(child);
  }

  /**
   * Returns the event added last, with its full state; other events unchanged. For `updates` this is the state after
   * merging all finished node runs in task order, and `written` has the channels that this node run wrote. Returns
   * undefined if an earlier state is unknown, and for the stored result of a part (see `isPartResult`).
   */
  withFullState(event: AnyEvent): AnyEvent | undefined {
    if (!isStateEvent(event) || event.delta === undefined) return event;
    if (!this.hasFullState(event)) return undefined;
    const { delta: _, ...rest } = event;
    const space = this.#find(event.checkpoint_ns) as Namespace;
    if (event.type === "updates")
      return { ...rest, state: space.pending.readState(), written: space.pending.readWritten(event.state) };
    const state = isDelta(event) ? readNow(space) : event.state;
    return event.type === "values" ? { ...rest, state } : { ...rest, state, checkpoint_ns: event.checkpoint_ns ?? "" };
  }

  /** True if `withFullState` returns the event. */
  hasFullState(event: AnyEvent): boolean {
    if (isPartResult(event)) return false;
    return !isDelta(event) || this.#find((event as StateEvent).checkpoint_ns)?.isComplete === true;
  }

  /**
   * Returns the channels written by the `updates` event added last, after the merge; undefined if an earlier state is
   * unknown. Unlike `withFullState` it costs only the size of these channels.
   */
  readWritten({ checkpoint_ns, state }: UpdatesEvent): JsonObject | undefined {
    const space = this.#find(checkpoint_ns);
    return space?.isComplete === true ? space.pending.readWritten(state) : undefined;
  }

  /**
   * Returns the state of the root graph, or of the subgraph `ns` while its node runs; undefined if none was received.
   */
  find(ns = ""): GraphState | undefined {
    const space = this.#find(ns);
    if (space === undefined) return undefined;
    const { pending, checkpoint, isComplete } = space;
    if (checkpoint === undefined && pending.size === 0 && !isComplete && space.closing === undefined) return undefined;
    return { state: readNow(space), base: space.base.read(), pending: pending.writes, checkpoint, isComplete };
  }

  #find(ns = ""): Namespace | undefined {
    return ns === "" ? this.#root : this.#nested.get(ns);
  }

  /** Returns undefined if the limit is reached. */
  #open(ns: string): Namespace | undefined {
    const known = this.#find(ns);
    if (known !== undefined || this.#nested.size >= this.#maxNamespaces) return known;
    const created = restoreNamespace(EMPTY);
    this.#nested.set(ns, created);
    const parent = this.#find(ns.slice(0, Math.max(0, ns.lastIndexOf("|")))) ?? this.#root;
    parent.children.add(ns);
    return created;
  }

  #release(ns: string): void {
    const gone = [ns];
    for (let name = gone.pop(); name !== undefined; name = gone.pop()) {
      for (const child of this.#nested.get(name)?.children ?? []) gone.push(child);
      this.#nested.delete(name);
    }
  }
}

const EMPTY: SavedNamespace = {
  base: {},
  arrived: [],
  closing: undefined,
  checkpoint: undefined,
  isComplete: false,
  children: new Set(),
};

function saveNamespace({ base, pending, ...others }: Namespace): SavedNamespace {
  return { ...others, base: base.read(), arrived: pending.arrived };
}

function restoreNamespace({ base: state, arrived, children, ...others }: SavedNamespace): Namespace {
  const base = new PatchedState(state);
  return { ...others, base, pending: new SuperStep(base, arrived), children: new Set(children) };
}

/** Starts from a full state. */
function begin(space: Namespace, state: Json): void {
  space.base = new PatchedState(state);
  space.pending = new SuperStep(space.base);
  space.closing = undefined;
}

/** Ends the super-step: merges the pending writes into the state. */
function settle(space: Namespace): void {
  const { base, pending, closing } = space;
  if (closing?.isComplete === true) {
    begin(space, closing.state);
    return;
  }
  for (const { patch } of pending.writes) base.apply(patch);
  if (closing !== undefined) base.apply(closing.state);
  if (pending.size > 0) space.pending = new SuperStep(base);
  space.closing = undefined;
}

function readNow({ base, pending, closing }: Namespace): Json {
  if (closing?.isComplete === true) return closing.state;
  if (pending.size === 0 && closing === undefined) return base.read();
  const now = new PatchedState(base.read());
  for (const { patch } of pending.writes) now.apply(patch);
  if (closing !== undefined) now.apply(closing.state);
  return now.read();
}
