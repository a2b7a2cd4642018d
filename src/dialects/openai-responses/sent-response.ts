/**
 * The state of one response of the Responses API while it is encoded: its output items and its sequence numbers. Plain
 * data within a fixed limit, because encoders are saved. The functions return the events that change it, as JSON.
 *
 * Invariant: an event names only items that were added, and every item ends before the response does. The stream helper
 * of the `openai` package stops at anything else.
 */
import type { EventOf, Json, JsonObject, StampedRecord } from "../../protocol/index.ts";
import type { StampedEnvelope } from "../../protocol/record.ts";
import { type TrackedCall, TrackedCalls } from "../call-tracker.ts";
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

type TextItemKind = "message" | "reasoning";
type ItemStatus = "completed" | "incomplete" | "failed";

/** An output item that has not ended. */
interface OpenOutputItem {
  readonly id: string;
  readonly index: number;
  readonly kind: TextItemKind | "mcp_call";
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

export class SentResponse {
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
  recent: { readonly kind: TextItemKind; readonly node: string; readonly key: string } | undefined;
  /** Characters of all items. */
  held = 0;
  isCut = false;
  incompleteReason: string | undefined;
  usage: { input: number; output: number; total: number } | undefined;
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
}

/** Writes an event. Fields that are undefined are left out. */
export function writeEvent(
  fold: SentResponse,
  type: OpenaiResponsesFrameType,
  fields: { readonly [name: string]: Json | undefined },
): string {
  return JSON.stringify({ type, sequence_number: fold.sequence++, ...fields });
}

/** Starts the response. */
export function startResponse(fold: SentResponse): readonly string[] {
  fold.isOpen = true;
  const response = describeResponse(fold, "in_progress", {});
  return [writeEvent(fold, "response.created", { response }), writeEvent(fold, "response.in_progress", { response })];
}

function describeResponse(fold: SentResponse, status: string, fields: JsonObject): JsonObject {
  const { id, model, createdAt, about } = fold;
  return { ...describeQueuedResponse(id, { status, model, createdAt }), ...about, ...fields };
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

/** Ends all items, and the response. `fields` are fields of the response, `loom` is one of the event. */
export function endResponse(
  fold: SentResponse,
  status: "completed" | "failed" | "cancelled",
  fields: JsonObject = {},
  loom?: JsonObject,
): readonly string[] {
  const frames = [...fold.open.keys()].flatMap((key) => endItem(fold, key, status));
  const output = fold.output.toSorted((a, b) => a.index - b.index).map(({ item }) => item);
  const usage = fold.usage === undefined ? {} : { usage: describeUsage(fold.usage) };
  const reason = fold.isCut ? "max_output_tokens" : fold.incompleteReason;
  const isShort = status === "completed" && reason !== undefined;
  const about = { output, ...usage, ...fields, ...(isShort ? { incomplete_details: { reason } } : {}) };
  // The client has no event for a cancelled response.
  const type = status === "failed" ? "failed" : status === "completed" && !isShort ? "completed" : "incomplete";
  const response = describeResponse(fold, isShort ? "incomplete" : status, about);
  return [...frames, writeEvent(fold, `response.${type}`, { response, loom })];
}

function describeUsage({ input, output, total }: NonNullable<SentResponse["usage"]>): JsonObject {
  return {
    input_tokens: input,
    input_tokens_details: { cached_tokens: 0 },
    output_tokens: output,
    output_tokens_details: { reasoning_tokens: 0 },
    total_tokens: total,
  };
}

/** Appends to the open item of a node run, and adds it if needed. */
export function appendText(
  fold: SentResponse,
  kind: TextItemKind,
  { node_id: node = "", event_id }: StampedEnvelope,
  delta: string,
): readonly string[] {
  const key = findKey(fold, kind, node);
  const open = fold.open.get(key);
  // A node run has at most one open text, so there is nothing to end.
  if (open !== undefined) {
    hold(fold, open, delta);
    return [writeDelta(fold, open, delta)];
  }
  const frames = [...endText(fold, kind === "message" ? "reasoning" : "message", node)];
  const id = `${kind === "message" ? "msg" : "rs"}_${event_id}`;
  const item = addItem(fold, key, { id, kind, node, call: {} }, frames);
  const at = { item_id: item.id, output_index: item.index };
  frames.push(
    kind === "message"
      ? writeEvent(fold, "response.content_part.added", { ...at, content_index: 0, part: describePart(item) })
      : writeEvent(fold, "response.reasoning_summary_part.added", {
          ...at,
          summary_index: 0,
          part: describePart(item),
        }),
  );
  hold(fold, item, delta);
  frames.push(writeDelta(fold, item, delta));
  return frames;
}

/** Returns the key of a text in `open`. The last one is kept, because most tokens have it. */
function findKey(fold: SentResponse, kind: TextItemKind, node: string): string {
  if (fold.recent?.kind !== kind || fold.recent.node !== node) fold.recent = { kind, node, key: `${kind}:${node}` };
  return fold.recent.key;
}

/** Written by hand: it is the event of each token. */
function writeDelta(fold: SentResponse, { kind, id, index }: OpenOutputItem, delta: string): string {
  const [type, part] =
    kind === "message"
      ? ["output_text", '"content_index":0,"logprobs":[]']
      : ["reasoning_summary_text", '"summary_index":0'];
  return `{"type":"response.${type}.delta","sequence_number":${fold.sequence++},"item_id":"${id}","output_index":${index},${part},"delta":${JSON.stringify(delta)}}`;
}

function hold(fold: SentResponse, item: OpenOutputItem, text: string): void {
  fold.isCut ||= fold.held + text.length > MAX_OUTPUT_CHARACTERS;
  if (fold.isCut) return;
  fold.held += text.length;
  item.text += text;
}

function addItem(
  fold: SentResponse,
  key: string,
  about: Omit<OpenOutputItem, "index" | "text">,
  frames: string[],
): OpenOutputItem {
  const item: OpenOutputItem = { ...about, index: fold.items++, text: "" };
  const [oldest] = fold.open.keys();
  if (fold.open.size >= MAX_OPEN_ITEMS && oldest !== undefined) frames.push(...endItem(fold, oldest, "incomplete"));
  fold.open.set(key, item);
  const added = describeItem(item, "in_progress");
  frames.push(writeEvent(fold, "response.output_item.added", { output_index: item.index, item: added }));
  return item;
}

function describePart({ kind, text }: OpenOutputItem): JsonObject {
  return kind === "message"
    ? { type: "output_text", text, annotations: [], logprobs: [] }
    : { type: "summary_text", text };
}

/** An item as it is added, without its text, or as it ended. */
function describeItem(item: OpenOutputItem, status: string, fields: JsonObject = {}): JsonObject {
  const { id, kind, text, call } = item;
  const parts = status === "in_progress" ? [] : [describePart(item)];
  if (kind === "message") return { id, type: kind, role: "assistant", status, content: parts };
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

function endItem(fold: SentResponse, key: string, status: ItemStatus | "cancelled"): readonly string[] {
  const item = fold.open.get(key);
  if (item === undefined) return [];
  if (item.kind === "mcp_call") return closeItem(fold, key, item, "incomplete", {}, false);
  return closeItem(fold, key, item, status === "completed" ? status : "incomplete", {}, false);
}

function closeItem(
  fold: SentResponse,
  key: string,
  item: OpenOutputItem,
  status: ItemStatus,
  fields: JsonObject,
  isKept: boolean,
): readonly string[] {
  fold.open.delete(key);
  const { id, index, kind, text } = item;
  const at = { item_id: id, output_index: index };
  const frames: string[] = [];
  if (kind === "message") {
    frames.push(
      writeEvent(fold, "response.output_text.done", { ...at, content_index: 0, text, logprobs: [] }),
      writeEvent(fold, "response.content_part.done", { ...at, content_index: 0, part: describePart(item) }),
    );
  } else if (kind === "reasoning") {
    frames.push(
      writeEvent(fold, "response.reasoning_summary_text.done", { ...at, summary_index: 0, text }),
      writeEvent(fold, "response.reasoning_summary_part.done", { ...at, summary_index: 0, part: describePart(item) }),
    );
  } else if (status !== "incomplete") {
    frames.push(writeEvent(fold, `response.mcp_call.${status}`, at));
  }
  return [...frames, sendDone(fold, item, describeItem(item, status, fields), isKept)];
}

/** Ends an item, and keeps it for the end of the response. */
export function sendDone(
  fold: SentResponse,
  { index, node }: Pick<OpenOutputItem, "index" | "node">,
  item: JsonObject,
  isKept: boolean,
): string {
  fold.isCut ||= fold.held + ITEM_CHARACTERS > MAX_OUTPUT_CHARACTERS;
  fold.held += ITEM_CHARACTERS;
  if (!fold.isCut) fold.output.push({ index, node, isKept, item });
  return writeEvent(fold, "response.output_item.done", { output_index: index, item });
}

/** Ends the open item of a call without a result, and leaves it out of the output. Returns its arguments. */
export function dropCall(fold: SentResponse, call: string, frames: string[]): string | undefined {
  const key = `${CALL_KEY}${call}`;
  const item = fold.open.get(key);
  if (item === undefined) return undefined;
  frames.push(...closeItem(fold, key, item, "incomplete", { loom: { call_id: call, waiting: true } }, false));
  fold.output = fold.output.filter(({ index }) => index !== item.index);
  return item.text;
}

export function endText(
  fold: SentResponse,
  kind: TextItemKind,
  node: string,
  status: ItemStatus = "completed",
): readonly string[] {
  return endItem(fold, `${kind}:${node}`, status);
}

/** Ends the text items of a node run: what follows is shown after them. */
export function endTexts(fold: SentResponse, node = "", status: ItemStatus = "completed"): readonly string[] {
  return [...endText(fold, "reasoning", node, status), ...endText(fold, "message", node, status)];
}

/** Adds the item of a call, unless it was added. */
export function addCall(fold: SentResponse, call: TrackedCall, envelope: StampedEnvelope): readonly string[] {
  const key = `${CALL_KEY}${call.id}`;
  if (fold.open.has(key)) return [];
  const { node_id: node = "", event_id } = envelope;
  const frames = [...endTexts(fold, node)];
  const about = { name: call.name, loom: { call_id: call.id } };
  const item = addItem(fold, key, { id: `mcp_${event_id}`, kind: "mcp_call", node, call: about }, frames);
  frames.push(writeEvent(fold, "response.mcp_call.in_progress", { item_id: item.id, output_index: item.index }));
  return frames;
}

/** Adds a piece of the arguments of a call. */
export function addArguments(fold: SentResponse, call: TrackedCall, delta: string): readonly string[] {
  const item = fold.open.get(`${CALL_KEY}${call.id}`);
  if (item === undefined || delta === "") return [];
  return [writeEvent(fold, "response.mcp_call_arguments.delta", { item_id: item.id, output_index: item.index, delta })];
}

/** Sends the complete arguments of a call, once. */
export function showCall(
  fold: SentResponse,
  call: TrackedCall,
  envelope: StampedEnvelope,
  text: string,
): readonly string[] {
  if (call.shown) return [];
  call.shown = true;
  const frames = addCall(fold, call, envelope);
  const item = fold.open.get(`${CALL_KEY}${call.id}`) as OpenOutputItem;
  hold(fold, item, text);
  const loom = call.description === undefined ? undefined : { description: call.description };
  const fields = { item_id: item.id, output_index: item.index, arguments: text, loom };
  return [...frames, writeEvent(fold, "response.mcp_call_arguments.done", fields)];
}

/** Ends a call with its result. */
export function endCall(fold: SentResponse, call: TrackedCall, event: EventOf<"tool_end">): readonly string[] {
  const key = `${CALL_KEY}${call.id}`;
  const item = fold.open.get(key);
  if (item === undefined) return [];
  const { result, is_error, output, error_code, duration_ms } = event;
  fold.held += result.length;
  const loom = dropUndefined({ call_id: call.id, output, error_code, duration_ms });
  const fields = is_error
    ? { error: { type: "mcp_tool_execution_error", content: [{ type: "text", text: result }] }, loom }
    : { output: result, loom };
  // A call of an interrupted model call that never started is made again.
  return closeItem(fold, key, item, is_error ? "failed" : "completed", fields, error_code !== "interrupted");
}

/**
 * A node run repeats an interrupted one. Its open items end as incomplete, and its texts, and calls that did not run,
 * are left out of the output at the end of the response: a client cannot take back an item, but that output replaces
 * what it has collected.
 */
export function supersede(fold: SentResponse, node: string): readonly string[] {
  const frames = [...fold.open].flatMap(([key, item]) => (item.node === node ? endItem(fold, key, "incomplete") : []));
  fold.output = fold.output.filter((sent) => sent.isKept || sent.node !== node);
  return frames;
}
