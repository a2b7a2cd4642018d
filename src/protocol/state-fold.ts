/**
 * The states of one run's graphs, from its events: what was stored as deltas, whole again. It knows no reducer and no
 * log, and runs in a page. Of a graph it knows only how the path of a subgraph is put together.
 *
 * Invariants:
 * - `add` costs what the event holds, however long the run and wide the super-step is; the end of a super-step costs what
 *   was written in it. Only `show` and `find` cost what the state holds.
 * - The same events give the same states. Malformed ones are passed over, nothing throws.
 * - No state is called whole that is not: where the one before is not known, nothing is shown.
 * - What it holds is bounded by the states that are live and its limits. A subgraph is live until its node's `updates`.
 */
import type { CheckpointEvent, UpdatesEvent, ValuesEvent } from "./events.generated.ts";
import type { Json } from "./json.ts";
import type { AnyEvent } from "./record.ts";
import { PatchedState } from "./state-patch.ts";
import { type PendingWrites, SuperStep } from "./super-step.ts";

export interface StateFoldOptions {
  /** Subgraphs that are live at a time; of those beyond, no state is known. */
  readonly maxNamespaces?: number;
  /** Node runs of one super-step that wait for its end; past it they are merged as they came so far. */
  readonly maxPending?: number;
}

const MAX_NAMESPACES = 100_000;
const MAX_PENDING = 100_000;

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
  pending: SuperStep;
  /** The `values` that ended the super-step. Until the checkpoint comes, `base` and `pending` stay for whoever resumes. */
  closing: { readonly state: Json; readonly isWhole: boolean } | undefined;
  checkpoint: CheckpointEvent | undefined;
  isWhole: boolean;
  /** Paths of the subgraphs inside it. */
  readonly children: Set<string>;
}

type StateEvent = UpdatesEvent | ValuesEvent | CheckpointEvent;

/** True where an event is one of a row of states of which only the first is held whole. */
export function isOfDeltas(event: AnyEvent): boolean {
  return isStateEvent(event) && typeof event.delta === "boolean";
}

/** True where an event's state is held as what changed. */
export function isDelta(event: AnyEvent): boolean {
  return isStateEvent(event) && event.delta === true;
}

export function isStateEvent(event: AnyEvent): event is StateEvent {
  return event.type === "updates" || event.type === "values" || event.type === "checkpoint";
}

export class StateFold {
  readonly #maxPending: number;
  readonly #maxNamespaces: number;
  readonly #root: Namespace = createNamespace();
  readonly #nested = new Map<string, Namespace>();

  constructor({ maxNamespaces = MAX_NAMESPACES, maxPending = MAX_PENDING }: StateFoldOptions = {}) {
    this.#maxNamespaces = maxNamespaces;
    this.#maxPending = maxPending;
  }

  /** Takes in the next event of the run. */
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
    // A super-step waits for all that is inside it.
    for (const child of space.children) this.#release(child);
    space.children.clear();
  }

  #addWrites(ns: string, { id, state: patch, task = Number.MAX_SAFE_INTEGER }: UpdatesEvent): void {
    const space = this.#open(ns);
    if (space === undefined) return;
    if (space.closing !== undefined || space.pending.size >= this.#maxPending) settle(space);
    space.pending.add({ task, id, patch });
    // The subgraph of this node run, if it had one, has said all.
    const child = `${ns === "" ? "" : `${ns}|`}${id}:${(space.checkpoint?.step ?? 0) + 1}.${task}`;
    if (space.children.delete(child)) this.#release(child);
  }

  /**
   * The event that was added last, with its state whole: `updates` has the channels it wrote, after merging all that have
   * finished so far in the order of their task; `values` and `checkpoint` have all. Undefined where the state before is
   * not known. Any other event is given back as it is.
   */
  show(event: AnyEvent): AnyEvent | undefined {
    if (!isStateEvent(event) || event.delta === undefined) return event;
    const { delta: _, ...rest } = event;
    if (!isDelta(event)) return rest;
    const space = this.#find(event.checkpoint_ns);
    if (space?.isWhole !== true) return undefined;
    const state = event.type === "updates" ? space.pending.readWritten(event.state) : readNow(space);
    return { ...rest, state };
  }

  /** Whether `show` would give the event. */
  knows(event: AnyEvent): boolean {
    return !isDelta(event) || this.#find((event as StateEvent).checkpoint_ns)?.isWhole === true;
  }

  /** The state of the root, or of the subgraph at `ns` while its node runs; undefined where none came. */
  find(ns = ""): GraphState | undefined {
    const space = this.#find(ns);
    if (space === undefined) return undefined;
    const { pending, checkpoint, isWhole } = space;
    if (checkpoint === undefined && pending.size === 0 && !isWhole && space.closing === undefined) return undefined;
    return { state: readNow(space), base: space.base.read(), pending: pending.writes, checkpoint, isWhole };
  }

  #find(ns = ""): Namespace | undefined {
    return ns === "" ? this.#root : this.#nested.get(ns);
  }

  /** Undefined where there is no room for another. */
  #open(ns: string): Namespace | undefined {
    const known = this.#find(ns);
    if (known !== undefined || this.#nested.size >= this.#maxNamespaces) return known;
    const created = createNamespace();
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

function createNamespace(): Namespace {
  const base = new PatchedState({});
  return {
    base,
    pending: new SuperStep(base),
    closing: undefined,
    checkpoint: undefined,
    isWhole: false,
    children: new Set(),
  };
}

/** A state without a past. */
function begin(space: Namespace, state: Json): void {
  space.base = new PatchedState(state);
  space.pending = new SuperStep(space.base);
  space.closing = undefined;
}

/** Ends the super-step: what was pending becomes part of the state. */
function settle(space: Namespace): void {
  const { base, pending, closing } = space;
  if (closing?.isWhole === true) {
    begin(space, closing.state);
    return;
  }
  for (const { patch } of pending.writes) base.apply(patch);
  if (closing !== undefined) base.apply(closing.state);
  if (pending.size > 0) space.pending = new SuperStep(base);
  space.closing = undefined;
}

function readNow({ base, pending, closing }: Namespace): Json {
  if (closing?.isWhole === true) return closing.state;
  if (pending.size === 0 && closing === undefined) return base.read();
  const now = new PatchedState(base.read());
  for (const { patch } of pending.writes) now.apply(patch);
  if (closing !== undefined) now.apply(closing.state);
  return now.read();
}
