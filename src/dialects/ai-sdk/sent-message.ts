/**
 * The state of one message of the AI SDK while it is encoded: its step, its open parts and its calls. Plain data within
 * fixed limits, because encoders are saved. Its methods return the chunks that change it, as JSON.
 *
 * Invariants:
 * - A chunk names only parts and calls that the message has. Clients of the AI SDK stop at any other.
 * - Text, calls, their results and other content are in a step, which they open if none is. Only chunks about the run
 *   (`data-loom-node`, `data-loom-superseded`, `data-loom-waiting`) and answers to approvals open none.
 */
import { setBounded } from "../../protocol/bounded-map.ts";
import type { EventOf, Json, JsonObject, StampedRecord } from "../../protocol/index.ts";
import type { StampedEnvelope } from "../../protocol/record.ts";
import { type TrackedCall, TrackedCalls } from "../call-tracker.ts";
import type { SentParts, SentTextKind } from "../client-rows.ts";
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

/** Whether a part counts even if the model call of its step is repeated, or can then be taken back with the step. */
export type PartStay = "lasting" | "resettable";

interface MessageStep {
  /** Node run of the model call that started it. */
  readonly node: string | undefined;
  isEmpty: boolean;
  /** True if the step has parts that count even if its model call is repeated. */
  isKept: boolean;
  /** Calls whose arguments were sent in this step. Clients look for the part of a call only there. */
  readonly calls: Set<string>;
}

export class SentMessage implements SentParts {
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

  /** Model calls that run in parallel share a step. */
  startModelCall(node: string | undefined): readonly string[] {
    this.models++;
    return this.models === 1 ? this.startStep(node) : NO_FRAMES;
  }

  endModelCall(reason: string | undefined): void {
    this.models = Math.max(0, this.models - 1);
    this.finishReason = reason ?? this.finishReason;
  }

  /** Starts a step, if the open one has parts. A model call of another node run in the same step keeps it. */
  private startStep(node: string | undefined): readonly string[] {
    const isFresh = this.step?.isEmpty === true;
    const frames = isFresh ? [] : [...this.endStep(), writeChunk("start-step")];
    this.step = { node, isEmpty: true, isKept: false, calls: new Set() };
    return frames;
  }

  /** Ends all open parts, and the step. */
  endStep(): readonly string[] {
    const frames = [...this.endAll("text"), ...this.endAll("reasoning")];
    if (this.step === undefined) return frames;
    this.step = undefined;
    return [...frames, writeChunk("finish-step")];
  }

  /** A tool that ran has effects, so its call stays even if the step is repeated. */
  keepStep(): void {
    if (this.step !== undefined) this.step.isKept = true;
  }

  /** Adds chunks to the open step, and starts one if none is open. */
  addToStep(frames: readonly string[], stay: PartStay): readonly string[] {
    const opening = this.openStep(stay);
    return opening.length === 0 ? frames : [...opening, ...frames];
  }

  /** Adds chunks to the step, after the open parts of their node run. */
  addPart({ node_id }: StampedEnvelope, frames: readonly string[], stay: PartStay = "lasting"): readonly string[] {
    return [...this.endTexts(node_id), ...this.addToStep(frames, stay)];
  }

  private openStep(stay: PartStay): readonly string[] {
    const opening = this.step === undefined ? this.startStep(undefined) : NO_FRAMES;
    const step = this.step as MessageStep;
    step.isEmpty = false;
    step.isKept ||= stay === "lasting";
    return opening;
  }

  /** True for a node run other than that of the step's model call: its parts are not repeated with the step. */
  isOtherNode(node: string | undefined): boolean {
    return this.step !== undefined && this.step.node !== node;
  }

  appendText(kind: SentTextKind, { node_id, event_id }: StampedEnvelope, delta: string): readonly string[] {
    const node = node_id ?? "";
    const opening = this.openStep(this.isOtherNode(node_id) ? "lasting" : "resettable");
    let id = this[kind].get(node);
    // A node run has at most one open part, so there is nothing to end.
    if (id !== undefined && opening.length === 0) return [writeDelta(kind, id, delta)];
    const frames = [...opening, ...this.endText(kind === "text" ? "reasoning" : "text", node)];
    if (id === undefined) {
      id = `${kind}-${event_id}`;
      const oldest = setBounded(this[kind], MAX_OPEN_PARTS, node, id);
      if (oldest !== undefined) frames.push(writeChunk(`${kind}-end`, { id: oldest }));
      frames.push(writeChunk(`${kind}-start`, { id }));
    }
    frames.push(writeDelta(kind, id, delta));
    return frames;
  }

  endText(kind: SentTextKind, node: string): readonly string[] {
    const id = this[kind].get(node);
    if (id === undefined) return NO_FRAMES;
    this[kind].delete(node);
    return [writeChunk(`${kind}-end`, { id })];
  }

  endTexts(node = ""): readonly string[] {
    return [...this.endText("reasoning", node), ...this.endText("text", node)];
  }

  private endAll(kind: SentTextKind): string[] {
    const frames = [...this[kind].values()].map((id) => writeChunk(`${kind}-end`, { id }));
    this[kind].clear();
    return frames;
  }

  /** Sends a call with its arguments, unless it was sent. */
  showCall(call: TrackedCall, input: Json): readonly string[] {
    if (call.shown) return [];
    call.shown = true;
    this.streaming.delete(call.id);
    const frames = this.addToStep([this.writeCall(call, input)], "resettable");
    const { calls } = this.step as MessageStep;
    if (calls.size < MAX_CALLS) calls.add(call.id);
    return frames;
  }

  /** Sends a call whose arguments did not arrive, unless it was sent. */
  ensureShown(call: TrackedCall): readonly string[] {
    return this.showCall(call, {});
  }

  private writeCall({ id, name, description }: TrackedCall, input: Json): string {
    const title = this.version < 6 ? undefined : description;
    return writeChunk("tool-input-available", { toolCallId: id, toolName: name, input, title });
  }

  /** Of too many calls, no piece is sent. */
  streamArguments(
    { id: toolCallId, name: toolName }: TrackedCall,
    { node_id }: StampedEnvelope,
    delta: string,
  ): readonly string[] {
    const isFirst = !this.streaming.has(toolCallId);
    if (isFirst && this.streaming.size >= MAX_CALLS) return NO_FRAMES;
    const frames = [...this.endTexts(node_id)];
    if (isFirst) {
      this.streaming.set(toolCallId, node_id);
      frames.push(writeChunk("tool-input-start", { toolCallId, toolName }));
    }
    if (delta !== "") frames.push(writeChunk("tool-input-delta", { toolCallId, inputTextDelta: delta }));
    return frames.length === 0 ? NO_FRAMES : this.addToStep(frames, "resettable");
  }

  /**
   * Sends the answer to an approval. Before version 7 there is no chunk for it: an approved call is sent again, so that
   * clients show it as running, and a rejected one gets its result.
   */
  showDecision(
    call: TrackedCall,
    { decision, reason, arguments: input = call.arguments }: EventOf<"tool_approval_result">,
  ): readonly string[] {
    const approved = decision === "approved";
    if (this.version >= 7) return [writeChunk("tool-approval-response", { approvalId: call.id, approved, reason })];
    return this.version === 6 && approved && this.step?.calls.has(call.id) === true
      ? [this.writeCall(call, input)]
      : [];
  }

  /** Adds or removes a call that waits for the user. Returns false if it was not in the set. */
  changeAsked(id: string, isAsked: boolean): boolean {
    const wasAsked = this.asked.delete(id);
    if (isAsked && this.asked.size < MAX_CALLS) this.asked.add(id);
    if (isAsked || wasAsked) this.isWaiting = false;
    return wasAsked;
  }

  /**
   * Says once that the run waits for the user: calls wait, no other call is open and no part is open. A client that
   * answers after this chunk can continue the message in another stream, because no later chunk names an open part.
   */
  showWaiting(): readonly string[] {
    const { asked, text, reasoning, streaming, calls } = this;
    if (this.isWaiting || asked.size === 0 || text.size + reasoning.size + streaming.size > 0) return [];
    for (const { id } of calls.byKey.values()) if (!asked.has(id)) return [];
    this.isWaiting = true;
    return [writeChunk("data-loom-waiting", { data: { call_ids: [...asked] }, transient: true })];
  }

  /**
   * A node run repeats an interrupted one. If the step has only the text and the calls of that one, version 7 can take
   * them back. Otherwise a data part says that the text no longer counts, and the calls fail: a message cannot lose single
   * parts.
   */
  supersede(node: string): readonly string[] {
    const { step, calls, streaming } = this;
    const isAlone = step?.node === node && !step.isKept;
    const cut = [...calls.byKey].filter(([, { id, shown }]) =>
      streaming.has(id) ? streaming.get(id) === node : isAlone && shown,
    );
    for (const [key, { id }] of cut) {
      calls.byKey.delete(key);
      streaming.delete(id);
    }
    if (!isAlone || (this.version < 7 && !step.isEmpty)) {
      const failed = cut.map(([, { id }]) => writeChunk("tool-output-error", { toolCallId: id, errorText: CUT_CALL }));
      return [...failed, writeChunk("data-loom-superseded", { id: node, data: { node_id: node } })];
    }
    for (const open of [this.text, this.reasoning]) open.clear();
    step.calls.clear();
    if (step.isEmpty) return [];
    step.isEmpty = true;
    return [writeChunk("reset-step")];
  }

  /**
   * Ends the message of a cancelled run. Most releases of the AI SDK stop at the reason `interrupted`, and the first ones
   * at the reason of an `abort`.
   *
   * The data part is in a step without calls: a client that sends answers by itself does so if all calls of the last step
   * are complete, and a run that is over takes none.
   */
  abort(reason: string | undefined): readonly string[] {
    const ends = (this.step?.calls.size ?? 0) > 0 ? this.endStep() : [];
    const about = writeChunk("data-loom-cancelled", { data: reason === undefined ? {} : { reason } });
    const frames = [...ends, ...this.addToStep([about], "lasting"), ...this.endStep()];
    return [...frames, writeChunk("abort"), writeFinish("other", this.version)];
  }

  /** Remembers a to-do list, or a change of one. Returns the whole list; undefined if it is not known. */
  changeList(event: EventOf<"todo_list"> | EventOf<"todo_update">): EventOf<"todo_list"> | undefined {
    const { lists } = this;
    if (event.type === "todo_list") {
      if (event.items.length <= MAX_LIST_ITEMS) setBounded(lists, MAX_LISTS, event.list_id, event);
      else lists.delete(event.list_id);
      return event;
    }
    const list = lists.get(event.list_id);
    if (list === undefined) return undefined;
    const { item_id, text, completed } = event;
    const items = list.items.map((item) =>
      item.id === item_id ? { ...item, text: text ?? item.text, completed: completed ?? item.completed } : item,
    );
    const changed = { ...list, items };
    setBounded(lists, MAX_LISTS, event.list_id, changed);
    return changed;
  }

  /** Remembers a node run until it ends, and returns its data part. */
  enterNode(id: string, { id: name, parent, supersedes, attempt }: EventOf<"node_enter">): string {
    const about = dropUndefined({ name, parent, supersedes, attempt });
    setBounded(this.nodes, MAX_NODES, id, about);
    return writeChunk("data-loom-node", { id, data: { ...about, state: "running" } });
  }

  exitNode(id: string, { id: name, result }: EventOf<"node_exit">): string {
    const about = this.nodes.get(id) ?? { name };
    this.nodes.delete(id);
    const end = result === "Ok" ? { state: "done" } : { state: "failed", error: result.Err };
    return writeChunk("data-loom-node", { id, data: { ...about, ...end } });
  }
}

/** Writes a chunk. Fields that are undefined are left out. */
export function writeChunk(type: AiSdkFrameType, fields: { readonly [name: string]: Json | undefined } = {}): string {
  return JSON.stringify({ type, ...fields });
}

/** Written by hand, because it is the chunk of each token. IDs of parts need no escapes. */
function writeDelta(kind: SentTextKind, id: string, delta: string): string {
  return `{"type":"${kind}-delta","id":"${id}","delta":${JSON.stringify(delta)}}`;
}

/** Ends the message. The first releases of version 5 have no reasons. */
export function writeFinish(finishReason: string, version = DEFAULT_VERSION): string {
  return writeChunk("finish", version < 6 ? {} : { finishReason });
}
