/**
 * The states of one run's graphs, from its events: what was stored as deltas, whole again. It knows no reducer and no
 * log, and runs in a page.
 *
 * Invariants:
 * - `add` costs what the event holds, however long the run is. Only `show` and `find` cost what the state holds.
 * - The same events give the same states. Malformed ones are passed over, nothing throws.
 * - What it holds is bounded by the state itself and its limits.
 */
import { BoundedMap } from "./bounded-map.ts";
import type { CheckpointEvent, UpdatesEvent, ValuesEvent } from "./events.generated.ts";
import { isJsonObject, type Json, type JsonObject } from "./json.ts";
import type { AnyEvent } from "./record.ts";
import { PatchedState } from "./state-patch.ts";

export interface StateFoldOptions {
  /** Subgraphs held at a time; the one begun longest ago makes room. */
  readonly maxNamespaces?: number;
  /** Node runs of one super-step that wait for its end; past it they are merged as they came so far. */
  readonly maxPending?: number;
}

const MAX_NAMESPACES = 1000;
const MAX_PENDING = 100_000;

/** What a node run of the super-step that is going has written. */
export interface PendingWrites {
  /** Its place in the order of merging. */
  readonly task: number;
  /** Name of the node. */
  readonly id: string;
  /** By channel; see `StatePatch`. Not checked. */
  readonly patch: Json;
}

export interface GraphState {
  /** Now: all that is pending is merged. */
  readonly state: Json;
  /** At the beginning of the super-step, which is that of the last checkpoint. */
  readonly base: Json;
  /** By task. */
  readonly pending: readonly PendingWrites[];
  /** The last one, as it was added. */
  readonly checkpoint: CheckpointEvent | undefined;
  /** False: no whole state ever came, so `state` is what the deltas alone give. */
  readonly isWhole: boolean;
}

interface Namespace {
  base: PatchedState;
  pending: PendingWrites[];
  /** The `values` that ended the super-step. Until the checkpoint comes, `base` and `pending` stay for whoever resumes. */
  closing: { readonly state: Json; readonly isWhole: boolean } | undefined;
  checkpoint: CheckpointEvent | undefined;
  isWhole: boolean;
}

type StateEvent = UpdatesEvent | ValuesEvent | CheckpointEvent;

/** True where an event's state is held as what changed. */
export function isDelta(event: AnyEvent): boolean {
  return isStateEvent(event) && event.delta === true;
}

function isStateEvent(event: AnyEvent): event is StateEvent {
  return event.type === "updates" || event.type === "values" || event.type === "checkpoint";
}

export class StateFold {
  readonly #maxPending: number;
  readonly #root: Namespace = createNamespace();
  readonly #nested: BoundedMap<Namespace>;

  constructor({ maxNamespaces = MAX_NAMESPACES, maxPending = MAX_PENDING }: StateFoldOptions = {}) {
    this.#nested = new BoundedMap(maxNamespaces);
    this.#maxPending = maxPending;
  }

  /** Takes in the next event of the run. */
  add(event: AnyEvent): void {
    if (!isStateEvent(event)) return;
    if (event.type === "updates") {
      if (event.delta === true) this.#addWrites(this.#open(event.checkpoint_ns), event);
      return;
    }
    const { checkpoint_ns: ns = "", state, delta } = event;
    const space = this.#open(ns);
    const isWhole = delta !== true;
    if (isWhole) space.isWhole = true;
    if (event.type === "values") {
      // Twice without a checkpoint: the second is against the first.
      if (space.closing !== undefined) settle(space);
      space.closing = { state, isWhole };
      return;
    }
    if (isWhole) begin(space, state);
    else {
      settle(space);
      space.base.apply(state);
    }
    space.checkpoint = event;
    // A super-step of the root waits for all that is inside it.
    if (ns === "" && this.#nested.size > 0) this.#nested.clear();
  }

  #addWrites(space: Namespace, { id, state: patch, task = Number.MAX_SAFE_INTEGER }: UpdatesEvent): void {
    if (space.closing !== undefined || space.pending.length >= this.#maxPending) settle(space);
    const { pending } = space;
    let place = pending.length;
    while (place > 0 && (pending[place - 1] as PendingWrites).task > task) place--;
    pending.splice(place, 0, { task, id, patch });
  }

  /**
   * The event that was added last, with its state whole: `updates` has the channels it wrote, after merging all that have
   * finished so far in the order of their task; `values` and `checkpoint` have all. Any other event is given back as it is.
   */
  show(event: AnyEvent): AnyEvent {
    if (!isStateEvent(event) || event.delta !== true) return event;
    const space = this.#find(event.checkpoint_ns);
    const { delta: _, ...rest } = event;
    const state =
      space === undefined ? {} : event.type === "updates" ? readWritten(space, event.state) : readNow(space);
    return { ...rest, state };
  }

  /** The state of the root, or of the subgraph at `ns` while the root's super-step is going; undefined where none came. */
  find(ns = ""): GraphState | undefined {
    const space = this.#find(ns);
    if (space === undefined) return undefined;
    const { pending, checkpoint, isWhole } = space;
    if (checkpoint === undefined && pending.length === 0 && !isWhole && space.closing === undefined) return undefined;
    return { state: readNow(space), base: space.base.read(), pending: [...pending], checkpoint, isWhole };
  }

  #find(ns = ""): Namespace | undefined {
    return ns === "" ? this.#root : this.#nested.get(ns);
  }

  #open(ns = ""): Namespace {
    return ns === "" ? this.#root : this.#nested.getOrCreate(ns, createNamespace);
  }
}

function createNamespace(): Namespace {
  return { base: new PatchedState({}), pending: [], closing: undefined, checkpoint: undefined, isWhole: false };
}

/** A state without a past. */
function begin(space: Namespace, state: Json): void {
  space.base = new PatchedState(state);
  space.pending = [];
  space.closing = undefined;
}

/** Ends the super-step: what was pending becomes part of the state. */
function settle(space: Namespace): void {
  const { base, pending, closing } = space;
  if (closing?.isWhole === true) {
    begin(space, closing.state);
    return;
  }
  for (const { patch } of pending) base.apply(patch);
  if (closing !== undefined) base.apply(closing.state);
  if (pending.length > 0) space.pending = [];
  space.closing = undefined;
}

function readNow({ base, pending, closing }: Namespace): Json {
  if (closing?.isWhole === true) return closing.state;
  if (pending.length === 0 && closing === undefined) return base.read();
  const now = new PatchedState(base.read());
  for (const { patch } of pending) now.apply(patch);
  if (closing !== undefined) now.apply(closing.state);
  return now.read();
}

/** The channels that `patch` names, as they are now. */
function readWritten({ base, pending }: Namespace, patch: Json): JsonObject {
  if (!isJsonObject(patch)) return {};
  const written: [string, Json][] = [];
  for (const channel of Object.keys(patch)) {
    const known = base.readChannel(channel);
    const now = new PatchedState(known === undefined ? {} : Object.fromEntries([[channel, known]]));
    for (const { patch: other } of pending) now.applyTo(channel, other);
    const value = now.readChannel(channel);
    if (value !== undefined) written.push([channel, value]);
  }
  return Object.fromEntries(written);
}
