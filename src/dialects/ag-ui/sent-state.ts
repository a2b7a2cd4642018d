/**
 * The graph states that an AG-UI run has sent: the first one of a graph is sent in full, and each change as operations of
 * JSON Patch (RFC 6902) that are made from the event. Plain data within fixed limits, because encoders are saved.
 *
 * Invariants:
 * - A change costs the size of the events that describe it. Of the state itself, only the kind of each channel is kept.
 * - A client that applies the operations has the state that `StateFold` restores. A change of a state that was not sent is
 *   left out until the next full state.
 */
import { setBounded } from "../../protocol/bounded-map.ts";
import type { EventOf, Json, JsonObject } from "../../protocol/index.ts";
import { isJsonObject } from "../../protocol/json.ts";
import { PatchedState } from "../../protocol/state-patch.ts";
import type { PendingWrites } from "../../protocol/super-step.ts";
import { isRefused, writePointer } from "./json-patch.ts";

const MAX_GRAPHS = 10_000;
/** Changes of one graph that wait for the end of their step. Beyond it, the graph is not followed any more. */
const MAX_CHANGES = 100_000;

/** A graph whose state is known. */
export interface SentState {
  /** The full state. Absent as soon as the client has it and something changes it. */
  whole: Json | undefined;
  /** False if the client does not have the state: only a checkpoint reported it. */
  isSent: boolean;
  /** What each channel is; undefined if the state is not an object. */
  kinds: Map<string, "list" | "object" | "other"> | undefined;
  /** Changes of steps that have ended, in order. */
  changes: Json[];
  /** Writes of the current step. */
  pending: PendingWrites[];
}

/** Remembers what a node wrote, and what a checkpoint reports: both are sent with the next `values`. */
export function noteChange(known: Map<string, SentState>, event: EventOf<"updates"> | EventOf<"checkpoint">): void {
  const ns = event.checkpoint_ns ?? "";
  if (event.type === "checkpoint") releaseSubgraphs(known, ns);
  const sent = known.get(ns);
  if (event.type === "checkpoint" && event.delta !== true) {
    // The first checkpoint of a graph repeats the state.
    if (sent?.isSent === true && JSON.stringify(sent.whole) === JSON.stringify(event.state)) return;
    setState(known, ns, event.state, false);
  } else if (sent !== undefined && event.delta === true) {
    if (event.type === "checkpoint") endStep(sent, event.state);
    else sent.pending.push({ task: event.task ?? Number.MAX_SAFE_INTEGER, id: event.id, patch: event.state });
    if (sent.isSent) sent.whole = undefined;
    if (sent.pending.length + sent.changes.length > MAX_CHANGES) known.delete(ns);
  }
}

/** Remembers a full state that is sent. */
export function noteState(known: Map<string, SentState>, { checkpoint_ns = "", state }: EventOf<"values">): void {
  setState(known, checkpoint_ns, state, true);
}

function setState(known: Map<string, SentState>, ns: string, whole: Json, isSent: boolean): void {
  setBounded(known, MAX_GRAPHS, ns, { whole, isSent, kinds: readKinds(whole), changes: [], pending: [] });
}

/**
 * Returns the changes since the last `values` of the graph, in order. If the client does not have the state, returns the
 * whole state instead.
 */
export function takeChanges(
  sent: SentState,
  { state: corrections }: EventOf<"values">,
): { readonly changes: readonly Json[] } | { readonly state: Json } {
  endStep(sent, corrections);
  const { changes, whole = null, isSent } = sent;
  sent.changes = [];
  sent.whole = undefined;
  if (isSent) return { changes };
  const patched = new PatchedState(whole);
  for (const change of changes) patched.apply(change);
  return { state: patched.read() };
}

function endStep(sent: SentState, corrections: Json): void {
  for (const { patch } of sent.pending.toSorted((a, b) => a.task - b.task)) sent.changes.push(patch);
  sent.pending = [];
  if (isJsonObject(corrections) && Object.keys(corrections).length > 0) sent.changes.push(corrections);
}

/** All subgraphs of a step are finished when it ends. */
function releaseSubgraphs(known: Map<string, SentState>, ns: string): void {
  for (const name of known.keys()) if (name !== ns && (ns === "" || name.startsWith(`${ns}|`))) known.delete(name);
}

/** Returns the operations that change the state of the root graph, see `StatePatch`. Malformed parts are left out. */
export function toOperations(sent: SentState, changes: readonly Json[]): readonly JsonObject[] {
  const operations: JsonObject[] = [];
  for (const patch of changes)
    for (const [channel, change] of Object.entries(isJsonObject(patch) ? patch : {}))
      if (isJsonObject(change)) operations.push(...changeChannel(sent, channel, change));
  return operations;
}

function changeChannel(sent: SentState, channel: string, { set, append, merge }: JsonObject): readonly JsonObject[] {
  const joined = Array.isArray(append) ? append : isJsonObject(merge) ? merge : undefined;
  // A channel can be set to null.
  const added = set === undefined ? joined : set;
  if (added === undefined) return [];
  const operations: JsonObject[] = [];
  const add = (value: Json, ...tokens: readonly string[]): void => {
    // Clients refuse a patch with such a path.
    if (!isRefused(tokens)) operations.push({ op: "add", path: writePointer(tokens), value });
  };
  if (sent.kinds === undefined) operations.push({ op: "replace", path: "", value: {} });
  sent.kinds ??= new Map();
  const kind = readKind(added);
  // A channel of another kind is replaced.
  if (set !== undefined || sent.kinds.get(channel) !== kind) add(added, channel);
  else if (kind === "list") for (const item of added as readonly Json[]) add(item, channel, "-");
  else for (const [key, value] of Object.entries(added as JsonObject)) add(value, channel, key);
  sent.kinds.set(channel, kind);
  return operations;
}

function readKinds(state: Json): SentState["kinds"] {
  if (!isJsonObject(state)) return undefined;
  return new Map(Object.entries(state).map(([channel, value]) => [channel, readKind(value)]));
}

function readKind(value: Json | undefined): "list" | "object" | "other" {
  if (Array.isArray(value)) return "list";
  return isJsonObject(value) ? "object" : "other";
}
