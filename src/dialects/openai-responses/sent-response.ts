/**
 * The state of one response of the Responses API while it is encoded: its output items and its sequence numbers. Plain
 * data within a fixed limit, because encoders are saved. Its methods return the events that change it, as JSON.
 *
 * Invariant: an event names only items that were added, and every item ends before the response does. The stream helper
 * of the `openai` package stops at anything else.
 */
import type { EventOf, Json, JsonObject, LoomEvent, StampedRecord } from "../../protocol/index.ts";
import type { StampedEnvelope } from "../../protocol/record.ts";
import { type TrackedCall, TrackedCalls } from "../call-tracker.ts";
import type { SentParts, SentTextKind, TokenSum } from "../client-rows.ts";
import { NO_FRAMES } from "../dialect.ts";
import { dropUndefined } from "../../protocol/drop-undefined.ts";
import { formatOpenaiId, type OpenaiReference } from "../openai-id.ts";
import { WaitingCalls } from "../waiting-calls.ts";
import { StreamedAnswer } from "../reply-text.ts";
import { type DescribedRun, describeRequest } from "./describe-request.ts";
import type { OpenaiResponsesFrameType } from "./frames.ts";

/** Maximum number of open items. Beyond it, the oldest is closed. */
const MAX_OPEN_ITEMS = 1000;
/** Maximum number of characters of all items. Beyond it, the response ends as incomplete. */
const MAX_OUTPUT_CHARACTERS = 4 * 1024 * 1024;
/** Characters that an item takes in addition to its texts. */
const ITEM_CHARACTERS = 200;
export const SERVER_LABEL = "loom";
/** Prefix of the keys of open calls. */
export const CALL_KEY = "call:";

type ItemStatus = "completed" | "incomplete" | "failed";

/** An output item that has not ended. */
interface OpenOutputItem {
  readonly id: string;
  readonly index: number;
  readonly kind: SentTextKind | "mcp_call";
  /** The node run that it belongs to. */
  readonly node: string;
  /** Its text so far; for a call, its arguments. */
  text: string;
  /** Fields of a call. */
  readonly call: JsonObject;
}

/** An output item that has ended. */
interface SentOutputItem {
  readonly index: number;
  readonly node: string;
  /** True if it counts even if its node run is repeated: a tool that ran has effects. */
  readonly isKept: boolean;
  readonly item: JsonObject;
}

export class SentResponse implements SentParts {
  /** Undefined for a run without an ID. */
  readonly of: Omit<OpenaiReference, "after"> | undefined;
  /** The record that ended the response before: a run that waits for the client has several. 0 for the first. */
  after = 0;
  id: string;
  /** Fields of every response of the run. */
  about: JsonObject;
  /** In seconds since 1970; 0 if it is not known. */
  readonly createdAt: number;
  model = "loom";
  isOpen = false;
  sequence = 0;
  /** Number of items that were added. */
  items = 0;
  /** Open items by kind and node run, or by call. */
  readonly open = new Map<string, OpenOutputItem>();
  output: SentOutputItem[] = [];
  /** The text that was appended to last, and its key in `open`. */
  recent: { readonly kind: SentTextKind; readonly node: string; readonly key: string } | undefined;
  /** Characters of all items. */
  held = 0;
  isCut = false;
  incompleteReason: string | undefined;
  usage: TokenSum | undefined;
  readonly calls = new TrackedCalls();
  /** Arguments of calls whose item ended with an earlier response, as JSON. */
  readonly paused = new Map<string, string>();
  /** What the run waits for: output items. */
  readonly waiting = new WaitingCalls<JsonObject>();
  /** Names of tools that the client carries out. */
  readonly clientTools: readonly string[];
  readonly answered = new StreamedAnswer();

  constructor({ envelope, event }: StampedRecord) {
    const { run_id, client_tools = [], ...run_start } = event as Partial<EventOf<"run_start">>;
    const { event_id, ts = 0, session_id: session } = envelope;
    const run = envelope.run_id ?? run_id;
    const of = run === undefined ? undefined : { session, run };
    this.of = of;
    this.id = of === undefined ? `resp_${event_id}` : formatOpenaiId("response", { ...of, after: 0 });
    this.about = describeRequest({ ...run_start, client_tools });
    this.createdAt = Math.max(0, Math.floor(ts / 1000));
    this.clientTools = client_tools.map(({ name }) => name);
  }

  /** Writes an event. Fields that are undefined are left out. */
  writeEvent(type: OpenaiResponsesFrameType, fields: { readonly [name: string]: Json | undefined }): string {
    return JSON.stringify({ type, sequence_number: this.sequence++, ...fields });
  }

  /** Sends an event that only clients of Loom read. */
  extend(event: LoomEvent): readonly string[] {
    return [this.writeEvent("keepalive", { loom: event as unknown as JsonObject })];
  }

  /** Starts the response. */
  start(): readonly string[] {
    this.isOpen = true;
    const response = this.describe("in_progress", {});
    return [this.writeEvent("response.created", { response }), this.writeEvent("response.in_progress", { response })];
  }

  private describe(status: string, fields: JsonObject): JsonObject {
    const { id, model, createdAt, about } = this;
    return { ...describeQueuedResponse(id, { status, model, createdAt }), ...about, ...fields };
  }

  /** Ends all items, and the response. `fields` are fields of the response, `loom` is one of the event. */
  end(status: "completed" | "failed" | "cancelled", fields: JsonObject = {}, loom?: JsonObject): readonly string[] {
    const frames = [...this.open.keys()].flatMap((key) => this.endItem(key, status));
    const output = this.output.toSorted((a, b) => a.index - b.index).map(({ item }) => item);
    const usage = this.usage === undefined ? {} : { usage: describeUsage(this.usage) };
    const reason = this.isCut ? "max_output_tokens" : this.incompleteReason;
    const isShort = status === "completed" && reason !== undefined;
    const about = { output, ...usage, ...fields, ...(isShort ? { incomplete_details: { reason } } : {}) };
    // The client has no event for a cancelled response.
    const type = status === "failed" ? "failed" : status === "completed" && !isShort ? "completed" : "incomplete";
    const response = this.describe(isShort ? "incomplete" : status, about);
    return [...frames, this.writeEvent(`response.${type}`, { response, loom })];
  }

  appendText(kind: SentTextKind, { node_id: node = "", event_id }: StampedEnvelope, delta: string): readonly string[] {
    const key = this.findKey(kind, node);
    const open = this.open.get(key);
    // A node run has at most one open text, so there is nothing to end.
    if (open !== undefined) {
      this.hold(open, delta);
      return [this.writeDelta(open, delta)];
    }
    const frames = [...this.endText(kind === "text" ? "reasoning" : "text", node)];
    const id = `${kind === "text" ? "msg" : "rs"}_${event_id}`;
    const item = this.addItem(key, { id, kind, node, call: {} }, frames);
    const at = { item_id: item.id, output_index: item.index };
    const part = describePart(item);
    frames.push(
      kind === "text"
        ? this.writeEvent("response.content_part.added", { ...at, content_index: 0, part })
        : this.writeEvent("response.reasoning_summary_part.added", { ...at, summary_index: 0, part }),
    );
    this.hold(item, delta);
    frames.push(this.writeDelta(item, delta));
    return frames;
  }

  /** Returns the key of a text in `open`. The last one is kept, because most tokens have it. */
  private findKey(kind: SentTextKind, node: string): string {
    if (this.recent?.kind !== kind || this.recent.node !== node) this.recent = { kind, node, key: `${kind}:${node}` };
    return this.recent.key;
  }

  /** Written by hand: it is the event of each token. */
  private writeDelta({ kind, id, index }: OpenOutputItem, delta: string): string {
    const [type, part] =
      kind === "text"
        ? ["output_text", '"content_index":0,"logprobs":[]']
        : ["reasoning_summary_text", '"summary_index":0'];
    return `{"type":"response.${type}.delta","sequence_number":${this.sequence++},"item_id":"${id}","output_index":${index},${part},"delta":${JSON.stringify(delta)}}`;
  }

  private hold(item: OpenOutputItem, text: string): void {
    this.isCut ||= this.held + text.length > MAX_OUTPUT_CHARACTERS;
    if (this.isCut) return;
    this.held += text.length;
    item.text += text;
  }

  private addItem(key: string, about: Omit<OpenOutputItem, "index" | "text">, frames: string[]): OpenOutputItem {
    const item: OpenOutputItem = { ...about, index: this.items++, text: "" };
    const [oldest] = this.open.keys();
    if (this.open.size >= MAX_OPEN_ITEMS && oldest !== undefined) frames.push(...this.endItem(oldest, "incomplete"));
    this.open.set(key, item);
    const added = describeItem(item, "in_progress");
    frames.push(this.writeEvent("response.output_item.added", { output_index: item.index, item: added }));
    return item;
  }

  private endItem(key: string, status: ItemStatus | "cancelled"): readonly string[] {
    const item = this.open.get(key);
    if (item === undefined) return [];
    const isComplete = status === "completed" && item.kind !== "mcp_call";
    return this.closeItem(key, item, isComplete ? status : "incomplete", {}, false);
  }

  private closeItem(
    key: string,
    item: OpenOutputItem,
    status: ItemStatus,
    fields: JsonObject,
    isKept: boolean,
  ): readonly string[] {
    this.open.delete(key);
    const { id, index, kind, text } = item;
    const at = { item_id: id, output_index: index };
    const part = describePart(item);
    const frames: string[] = [];
    if (kind === "text") {
      frames.push(
        this.writeEvent("response.output_text.done", { ...at, content_index: 0, text, logprobs: [] }),
        this.writeEvent("response.content_part.done", { ...at, content_index: 0, part }),
      );
    } else if (kind === "reasoning") {
      frames.push(
        this.writeEvent("response.reasoning_summary_text.done", { ...at, summary_index: 0, text }),
        this.writeEvent("response.reasoning_summary_part.done", { ...at, summary_index: 0, part }),
      );
    } else if (status !== "incomplete") frames.push(this.writeEvent(`response.mcp_call.${status}`, at));
    return [...frames, this.sendDone(item, describeItem(item, status, fields), isKept)];
  }

  /** Ends an item, and keeps it for the end of the response. */
  sendDone({ index, node }: Pick<OpenOutputItem, "index" | "node">, item: JsonObject, isKept: boolean): string {
    this.isCut ||= this.held + ITEM_CHARACTERS > MAX_OUTPUT_CHARACTERS;
    this.held += ITEM_CHARACTERS;
    if (!this.isCut) this.output.push({ index, node, isKept, item });
    return this.writeEvent("response.output_item.done", { output_index: index, item });
  }

  /** Ends the open item of a call without a result, and leaves it out of the output. Returns its arguments. */
  dropCall(call: string, frames: string[]): string | undefined {
    const key = `${CALL_KEY}${call}`;
    const item = this.open.get(key);
    if (item === undefined) return undefined;
    frames.push(...this.closeItem(key, item, "incomplete", { loom: { call_id: call, waiting: true } }, false));
    this.output = this.output.filter(({ index }) => index !== item.index);
    return item.text;
  }

  endText(kind: SentTextKind, node: string, status: ItemStatus = "completed"): readonly string[] {
    return this.endItem(`${kind}:${node}`, status);
  }

  endTexts(node = "", status: ItemStatus = "completed"): readonly string[] {
    return [...this.endText("reasoning", node, status), ...this.endText("text", node, status)];
  }

  /** Returns the open item of a call. Adds it if needed, with the events of that in `frames`. */
  private openCall(call: TrackedCall, envelope: StampedEnvelope, frames: string[]): OpenOutputItem {
    const key = `${CALL_KEY}${call.id}`;
    const known = this.open.get(key);
    if (known !== undefined) return known;
    const { node_id: node = "", event_id } = envelope;
    frames.push(...this.endTexts(node));
    const about = { name: call.name, loom: { call_id: call.id } };
    const item = this.addItem(key, { id: `mcp_${event_id}`, kind: "mcp_call", node, call: about }, frames);
    frames.push(this.writeEvent("response.mcp_call.in_progress", { item_id: item.id, output_index: item.index }));
    return item;
  }

  /** A call for the client is sent when it starts. */
  streamArguments(call: TrackedCall, envelope: StampedEnvelope, delta: string): readonly string[] {
    if (this.clientTools.includes(call.name)) return NO_FRAMES;
    const frames: string[] = [];
    const { id: item_id, index: output_index } = this.openCall(call, envelope, frames);
    if (delta !== "")
      frames.push(this.writeEvent("response.mcp_call_arguments.delta", { item_id, output_index, delta }));
    return frames;
  }

  /** Sends the complete arguments of a call, once. */
  showCall(call: TrackedCall, envelope: StampedEnvelope, text: string): readonly string[] {
    if (call.shown) return [];
    call.shown = true;
    const frames: string[] = [];
    const item = this.openCall(call, envelope, frames);
    this.hold(item, text);
    const loom = call.description === undefined ? undefined : { description: call.description };
    const fields = { item_id: item.id, output_index: item.index, arguments: text, loom };
    return [...frames, this.writeEvent("response.mcp_call_arguments.done", fields)];
  }

  /** Ends a call with its result. */
  endCall(call: TrackedCall, event: EventOf<"tool_end">): readonly string[] {
    const key = `${CALL_KEY}${call.id}`;
    const item = this.open.get(key);
    if (item === undefined) return [];
    const { result, is_error, output, error_code, duration_ms } = event;
    this.held += result.length;
    const loom = dropUndefined({ call_id: call.id, output, error_code, duration_ms });
    const fields = is_error
      ? { error: { type: "mcp_tool_execution_error", content: [{ type: "text", text: result }] }, loom }
      : { output: result, loom };
    // A call of an interrupted model call that never started is made again.
    return this.closeItem(key, item, is_error ? "failed" : "completed", fields, error_code !== "interrupted");
  }

  /**
   * A node run repeats an interrupted one. Its open items end as incomplete, and its texts, and calls that did not run,
   * are left out of the output at the end of the response: a client cannot take back an item, but that output replaces
   * what it has collected.
   */
  supersede(node: string): readonly string[] {
    const frames = [...this.open].flatMap(([key, item]) => (item.node === node ? this.endItem(key, "incomplete") : []));
    this.output = this.output.filter((sent) => sent.isKept || sent.node !== node);
    return frames;
  }
}

/** A response without output, also of a run that has not started. */
export function describeQueuedResponse<S extends string>(
  id: string,
  { status, model, createdAt = 0 }: { readonly status: S; readonly model: string; readonly createdAt?: number },
  run: DescribedRun = {},
) {
  return {
    id,
    object: "response",
    created_at: createdAt,
    status,
    model,
    output: [],
    error: null,
    incomplete_details: null,
    parallel_tool_calls: true,
    temperature: null,
    top_p: null,
    ...describeRequest(run),
  };
}

function describeUsage({ prompt_tokens, completion_tokens, total_tokens }: TokenSum): JsonObject {
  return {
    input_tokens: prompt_tokens,
    input_tokens_details: { cached_tokens: 0 },
    output_tokens: completion_tokens,
    output_tokens_details: { reasoning_tokens: 0 },
    total_tokens,
  };
}

function describePart({ kind, text }: OpenOutputItem): JsonObject {
  return kind === "text"
    ? { type: "output_text", text, annotations: [], logprobs: [] }
    : { type: "summary_text", text };
}

/** An item as it is added, without its text, or as it ended. */
function describeItem(item: OpenOutputItem, status: string, fields: JsonObject = {}): JsonObject {
  const { id, kind, text, call } = item;
  const parts = status === "in_progress" ? [] : [describePart(item)];
  if (kind === "text") return { id, type: "message", role: "assistant", status, content: parts };
  if (kind === "reasoning") return { id, type: kind, status, summary: parts };
  return {
    id,
    type: kind,
    server_label: SERVER_LABEL,
    arguments: text,
    status,
    approval_request_id: null,
    output: null,
    error: null,
    ...call,
    ...fields,
  };
}
