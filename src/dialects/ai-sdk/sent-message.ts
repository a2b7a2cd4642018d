/**
 * The state of one message of the AI SDK while it is encoded: its step, its open parts and its calls. Plain data within
 * fixed limits, because encoders are saved. The functions return the chunks that change it, as JSON.
 *
 * Invariant: a chunk names only parts and calls that the message has. Clients of the AI SDK stop at any other.
 */
import { setBounded } from "../../protocol/bounded-map.ts";
import type { EventOf, Json, JsonObject, StampedRecord } from "../../protocol/index.ts";
import type { StampedEnvelope } from "../../protocol/record.ts";
import { type TrackedCall, TrackedCalls } from "../call-tracker.ts";
import { NO_FRAMES } from "../dialect.ts";
import { dropUndefined } from "../../protocol/drop-undefined.ts";
import { StreamedAnswer } from "../reply-text.ts";
import type { AiSdkFrameType } from "./frames.ts";

/** Maximum open text parts, and open reasoning parts. Beyond it, the oldest is closed. */
const MAX_OPEN_PARTS = 1000;
const MAX_CALLS = 10_000;
const MAX_NODES = 10_000;
const MAX_LISTS = 100;
const MAX_LIST_ITEMS = 1000;
/** The AI SDK of a client that does not say which one it has. */
export const DEFAULT_VERSION = 6;
const CUT_CALL = "The process ended before the call was complete";

type StreamedPartKind = "text" | "reasoning";

export class SentMessage {
  /** Version of the AI SDK that reads the message. */
  readonly version: number;
  readonly runId: string | undefined;
  isOpen = false;
  /** The open step; undefined before the first. */
  step: MessageStep | undefined;
  /** Number of running model calls. Only the first of them starts a step. */
  models = 0;
  finishReason: string | undefined;
  /** Open parts by node run. */
  readonly text = new Map<string, string>();
  readonly reasoning = new Map<string, string>();
  readonly calls = new TrackedCalls();
  /** Node runs of the calls whose arguments are streamed. */
  readonly streaming = new Map<string, string | undefined>();
  /** Calls that wait for an approval or a result of the client. */
  readonly asked = new Set<string>();
  /** True once the stream says that the run waits for the calls in `asked`. */
  isWaiting = false;
  readonly lists = new Map<string, EventOf<"todo_list">>();
  /** Open node runs: what their end repeats. */
  readonly nodes = new Map<string, JsonObject>();
  readonly answered = new StreamedAnswer();

  constructor({ envelope, event }: StampedRecord, version: number) {
    const { run_id } = event as Partial<EventOf<"run_start">>;
    this.version = version;
    this.runId = envelope.run_id ?? run_id;
  }
}

export interface MessageStep {
  /** Node run of the model call that started it. */
  readonly node: string | undefined;
  isEmpty: boolean;
  /** True if the step has parts that count even if its model call is repeated. */
  isKept: boolean;
  /** Calls whose arguments were sent in this step. Clients look for the part of a call only there. */
  readonly calls: Set<string>;
}

/** Writes a chunk. Fields that are undefined are left out. */
export function writeChunk(type: AiSdkFrameType, fields: { readonly [name: string]: Json | undefined } = {}): string {
  return JSON.stringify({ type, ...fields });
}

/** Starts a step, if the open one has parts. A model call of another node run in the same step keeps it. */
export function startStep(fold: SentMessage, node: string | undefined): readonly string[] {
  const isFresh = fold.step?.isEmpty === true;
  const frames = isFresh ? [] : [...endStep(fold), writeChunk("start-step")];
  fold.step = { node, isEmpty: true, isKept: false, calls: new Set() };
  return frames;
}

/** Ends all open parts, and the step. */
export function endStep(fold: SentMessage): readonly string[] {
  const frames = [...endAll(fold, "text"), ...endAll(fold, "reasoning")];
  if (fold.step === undefined) return frames;
  fold.step = undefined;
  return [...frames, writeChunk("finish-step")];
}

/**
 * Adds chunks to the open step, and starts one if none is open. `isKept` says that they count even if the model call of
 * the step is repeated.
 */
export function addToStep(fold: SentMessage, frames: readonly string[], isKept: boolean): readonly string[] {
  const opening = openStep(fold, isKept);
  return opening.length === 0 ? frames : [...opening, ...frames];
}

function openStep(fold: SentMessage, isKept: boolean): readonly string[] {
  const opening = fold.step === undefined ? startStep(fold, undefined) : NO_FRAMES;
  const step = fold.step as MessageStep;
  step.isEmpty = false;
  step.isKept ||= isKept;
  return opening;
}

/** True for a node run other than that of the step's model call: its parts are not repeated with the step. */
export function isOtherNode({ step }: SentMessage, node: string | undefined): boolean {
  return step !== undefined && step.node !== node;
}

/** Appends to the open part of a node run, and opens it if needed. */
export function appendText(
  fold: SentMessage,
  kind: StreamedPartKind,
  { node_id, event_id }: StampedEnvelope,
  delta: string,
): readonly string[] {
  const node = node_id ?? "";
  const opening = openStep(fold, isOtherNode(fold, node_id));
  let id = fold[kind].get(node);
  // A node run has at most one open part, so there is nothing to end.
  if (id !== undefined && opening.length === 0) return [writeDelta(kind, id, delta)];
  const frames = [...opening, ...endPart(fold, kind === "text" ? "reasoning" : "text", node)];
  if (id === undefined) {
    id = `${kind}-${event_id}`;
    const oldest = setBounded(fold[kind], MAX_OPEN_PARTS, node, id);
    if (oldest !== undefined) frames.push(writeChunk(`${kind}-end`, { id: oldest }));
    frames.push(writeChunk(`${kind}-start`, { id }));
  }
  frames.push(writeDelta(kind, id, delta));
  return frames;
}

/** Written by hand, because it is the chunk of each token. IDs of parts need no escapes. */
function writeDelta(kind: StreamedPartKind, id: string, delta: string): string {
  return `{"type":"${kind}-delta","id":"${id}","delta":${JSON.stringify(delta)}}`;
}

export function endPart(fold: SentMessage, kind: StreamedPartKind, node: string): readonly string[] {
  const id = fold[kind].get(node);
  if (id === undefined) return NO_FRAMES;
  fold[kind].delete(node);
  return [writeChunk(`${kind}-end`, { id })];
}

/** Ends the parts of a node run: what follows is shown after them. */
export function endParts(fold: SentMessage, node = ""): readonly string[] {
  return [...endPart(fold, "reasoning", node), ...endPart(fold, "text", node)];
}

function endAll(fold: SentMessage, kind: StreamedPartKind): string[] {
  const frames = [...fold[kind].values()].map((id) => writeChunk(`${kind}-end`, { id }));
  fold[kind].clear();
  return frames;
}

/** Sends a call with its arguments, unless it was sent. */
export function showCall(fold: SentMessage, call: TrackedCall, input: Json): readonly string[] {
  if (call.shown) return [];
  call.shown = true;
  fold.streaming.delete(call.id);
  const frames = addToStep(fold, [writeCall(fold, call, input)], false);
  const { calls } = fold.step as MessageStep;
  if (calls.size < MAX_CALLS) calls.add(call.id);
  return frames;
}

function writeCall({ version }: SentMessage, { id, name, description }: TrackedCall, input: Json): string {
  const title = version < 6 ? undefined : description;
  return writeChunk("tool-input-available", { toolCallId: id, toolName: name, input, title });
}

/** Says whether a piece of arguments is the first of its call, or a later one. Of too many calls, no piece is sent. */
export function noteStreaming(
  { streaming }: SentMessage,
  id: string,
  node: string | undefined,
): "first" | "later" | "none" {
  if (streaming.has(id)) return "later";
  if (streaming.size >= MAX_CALLS) return "none";
  streaming.set(id, node);
  return "first";
}

/**
 * Sends the answer to an approval. Before version 7 there is no chunk for it: an approved call is sent again, so that
 * clients show it as running, and a rejected one gets its result.
 */
export function showDecision(
  fold: SentMessage,
  call: TrackedCall,
  { decision, reason, arguments: input = call.arguments }: EventOf<"tool_approval_result">,
): readonly string[] {
  const approved = decision === "approved";
  if (fold.version >= 7) return [writeChunk("tool-approval-response", { approvalId: call.id, approved, reason })];
  return fold.version === 6 && approved && fold.step?.calls.has(call.id) === true ? [writeCall(fold, call, input)] : [];
}

/** Adds or removes a call that waits for the user. Returns false if it was not in the set. */
export function changeAsked(fold: SentMessage, id: string, isAsked: boolean): boolean {
  const wasAsked = fold.asked.delete(id);
  if (isAsked && fold.asked.size < MAX_CALLS) fold.asked.add(id);
  if (isAsked || wasAsked) fold.isWaiting = false;
  return wasAsked;
}

/**
 * Says once that the run waits for the user: calls wait, no other call is open and no part is open. A client that
 * answers after this chunk can continue the message in another stream, because no later chunk names an open part.
 */
export function showWaiting(fold: SentMessage): readonly string[] {
  const { asked, text, reasoning, streaming, calls } = fold;
  if (fold.isWaiting || asked.size === 0 || text.size + reasoning.size + streaming.size > 0) return [];
  for (const { id } of calls.byKey.values()) if (!asked.has(id)) return [];
  fold.isWaiting = true;
  return [writeChunk("data-loom-waiting", { data: { call_ids: [...asked] }, transient: true })];
}

/**
 * A node run repeats an interrupted one. If the step has only the text and the calls of that one, version 7 can take them
 * back. Otherwise a data part says that the text no longer counts, and the calls fail: a message cannot lose single parts.
 */
export function supersede(fold: SentMessage, node: string): readonly string[] {
  const { step, calls, streaming } = fold;
  const isAlone = step?.node === node && !step.isKept;
  const cut = [...calls.byKey].filter(([, { id, shown }]) =>
    streaming.has(id) ? streaming.get(id) === node : isAlone && shown,
  );
  for (const [key, { id }] of cut) {
    calls.byKey.delete(key);
    streaming.delete(id);
  }
  if (!isAlone || (fold.version < 7 && !step.isEmpty)) {
    const failed = cut.map(([, { id }]) => writeChunk("tool-output-error", { toolCallId: id, errorText: CUT_CALL }));
    return [...failed, writeChunk("data-loom-superseded", { id: node, data: { node_id: node } })];
  }
  for (const open of [fold.text, fold.reasoning]) open.clear();
  step.calls.clear();
  if (step.isEmpty) return [];
  step.isEmpty = true;
  return [writeChunk("reset-step")];
}

/** Ends the message. The first releases of version 5 have no reasons. */
export function writeFinish(finishReason: string, version = DEFAULT_VERSION): string {
  return writeChunk("finish", version < 6 ? {} : { finishReason });
}

/**
 * Ends the message of a cancelled run. Most releases of the AI SDK stop at the reason `interrupted`, and the first ones at
 * the reason of an `abort`.
 *
 * The data part is in a step without calls: a client that sends answers by itself does so if all calls of the last step
 * are complete, and a run that is over takes none.
 */
export function abort(fold: SentMessage, reason: string | undefined): readonly string[] {
  const ends = (fold.step?.calls.size ?? 0) > 0 ? endStep(fold) : [];
  const about = writeChunk("data-loom-cancelled", { data: reason === undefined ? {} : { reason } });
  const frames = [...ends, ...addToStep(fold, [about], true), ...endStep(fold)];
  return [...frames, writeChunk("abort"), writeFinish("other", fold.version)];
}

/** Remembers a to-do list, or a change of one. Returns the whole list; undefined if it is not known. */
export function changeList(
  known: SentMessage["lists"],
  event: EventOf<"todo_list"> | EventOf<"todo_update">,
): EventOf<"todo_list"> | undefined {
  if (event.type === "todo_list") {
    if (event.items.length <= MAX_LIST_ITEMS) setBounded(known, MAX_LISTS, event.list_id, event);
    else known.delete(event.list_id);
    return event;
  }
  const list = known.get(event.list_id);
  if (list === undefined) return undefined;
  const { item_id, text, completed } = event;
  const items = list.items.map((item) =>
    item.id === item_id ? { ...item, text: text ?? item.text, completed: completed ?? item.completed } : item,
  );
  const changed = { ...list, items };
  setBounded(known, MAX_LISTS, event.list_id, changed);
  return changed;
}

/** Remembers a node run until it ends, and returns its data part. */
export function enterNode(fold: SentMessage, id: string, event: EventOf<"node_enter">): string {
  const { id: name, parent, supersedes, attempt } = event;
  const about = dropUndefined({ name, parent, supersedes, attempt });
  setBounded(fold.nodes, MAX_NODES, id, about);
  return writeChunk("data-loom-node", { id, data: { ...about, state: "running" } });
}

export function exitNode(fold: SentMessage, id: string, { id: name, result }: EventOf<"node_exit">): string {
  const about = fold.nodes.get(id) ?? { name };
  fold.nodes.delete(id);
  const end = result === "Ok" ? { state: "done" } : { state: "failed", error: result.Err };
  return writeChunk("data-loom-node", { id, data: { ...about, ...end } });
}
