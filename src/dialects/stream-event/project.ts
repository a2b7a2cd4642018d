/**
 * The StreamEvents of 002 as objects, from records: what the wire, the callbacks and the facade's stream have in common.
 * Calls the model makes in one go are announced together, when its call is over: so they bear the same round as their
 * results. Where a stream does not show model calls, it is the next record of the same node run that is not a call.
 */
import {
  type EventOf,
  isJsonObject,
  type Json,
  type JsonObject,
  type StampedEnvelope,
  type StampedRecord,
} from "../../protocol/index.ts";
import { extraOf, mergeExtra } from "../extra.ts";
import { createFoldEncoder } from "../fold-encoder.ts";
import { carried, omitted, type Table } from "../ledger.ts";
import { StreamedAnswer } from "../reply-text.ts";
import { NODE_NAME } from "../tool-values.ts";
import type { StreamEventFrame } from "./frames.generated.ts";
import type { StreamEventFrameType } from "./frames.ts";

interface Announced {
  readonly id: string;
  readonly name: string;
}

interface StreamEventFold {
  readonly source: StreamEventFrame["source"];
  readonly requestId: string | undefined;
  /** Whether `text_delta` is wanted. */
  readonly text: boolean;
  /** Node runs with calls not yet announced, of all runs together. */
  readonly held: { count: number };
  ts: number;
  iteration: number;
  countsModelCalls: boolean;
  /** Calls not yet announced, by node run. */
  readonly pending: Map<
    string,
    { readonly calls: Announced[]; readonly ts: number; readonly extra: JsonObject | undefined }
  >;
  /** When the last frame happened: held calls must not appear to go back in time. */
  lastTs: number;
  /** The round each call was announced in, until it is done: other nodes may be further by then. */
  readonly rounds: Map<string, number>;
  /** Calls that are not done: false while only pieces of their arguments have come, and nobody was told of them. */
  readonly made: Map<string, boolean>;
  /** Ids given to calls that have none, by tool name. */
  readonly madeIds: Map<string, string[]>;
  readonly answered: StreamedAnswer;
}

const MAX_REMEMBERED = 10_000;
/** Calls in one frame, and calls of one node run that wait to be announced. */
const MAX_ANNOUNCED = 1000;
const MAX_HELD = 10_000;
const NOTHING: readonly StreamEventFrame[] = [];

export interface StreamEventProjection {
  /** The events this record gives rise to, in order; often one, sometimes none. */
  project(record: StampedRecord): readonly StreamEventFrame[];
  /** Records left out because they belong to no run. */
  readonly dropped: number;
}

export interface ProjectionOptions {
  /** False leaves `text_delta` out; nothing else changes by it, and such records cost next to nothing. */
  readonly text?: boolean;
}

export function createStreamEventProjection({ text = true }: ProjectionOptions = {}): StreamEventProjection {
  const held = { count: 0 };
  const folds = createFoldEncoder<StreamEventFold, StreamEventFrame>({
    table: STREAM_EVENT_TABLE,
    create({ envelope, event }) {
      const start = event.type === "run_start" ? (event as EventOf<"run_start">) : undefined;
      return {
        source: start?.source ?? "stream",
        requestId: start?.request_id ?? envelope.run_id ?? start?.run_id,
        text,
        held,
        ts: 0,
        iteration: 0,
        countsModelCalls: false,
        pending: new Map(),
        lastTs: 0,
        rounds: new Map(),
        made: new Map(),
        madeIds: new Map(),
        answered: new StreamedAnswer(),
      };
    },
    before(fold, { envelope, event }) {
      const { type } = event;
      fold.ts = envelope.ts ?? fold.ts;
      countRound(fold, type, event as unknown as JsonObject);
      if (type === "tool_call_chunk") noteBegun(fold, event as EventOf<"tool_call_chunk">);
      if (fold.pending.size === 0 || type === "tool_call" || type === "tool_call_chunk") return NOTHING;
      // A call must be announced before anything is told of it, in whatever node run that happens.
      if (type === "reply" || type === "run_end" || type.startsWith("tool_"))
        return [...fold.pending.keys()].flatMap((node) => announce(fold, node));
      if (fold.countsModelCalls && type !== "llm_end" && type !== "node_exit") return NOTHING;
      return announce(fold, envelope.node_id ?? "");
    },
  });
  return {
    project(record) {
      // Text matters to those who do not want it only where it makes held calls known.
      if (!text && held.count === 0 && record.event.type === "message_chunk") return NOTHING;
      return folds.encode(record);
    },
    get dropped() {
      return folds.dropped;
    },
  };
}

/**
 * A round is one model call that came to its end: tries that failed are none, nor are summaries of what the model is to
 * read. Where a stream does not show model calls, it is one run of the node `think`.
 */
function countRound(fold: StreamEventFold, type: string, event: JsonObject): void {
  if ((type === "llm_start" || type === "llm_end") && event["purpose"] === "summary") return;
  if (type === "llm_start") fold.countsModelCalls = true;
  if (type === "llm_end" ? isWhole(event) : !fold.countsModelCalls && type === "node_exit" && event["id"] === "think")
    fold.iteration++;
}

function isWhole({ finish_reason, error }: JsonObject): boolean {
  return error === undefined && finish_reason !== "error" && finish_reason !== "cancelled";
}

/** The model may break off before the call is made: then it has an end, and no beginning that was told. */
function noteBegun({ made }: StreamEventFold, { call_id }: EventOf<"tool_call_chunk">): void {
  if (call_id !== undefined && !made.has(call_id) && made.size < MAX_REMEMBERED) made.set(call_id, false);
}

function announce(fold: StreamEventFold, node: string): readonly StreamEventFrame[] {
  const pending = fold.pending.get(node);
  if (pending === undefined) return NOTHING;
  fold.pending.delete(node);
  fold.held.count--;
  for (const { id } of pending.calls) if (fold.rounds.size < MAX_REMEMBERED) fold.rounds.set(id, fold.iteration);
  const envelope = pending.extra === undefined ? {} : { ext: { "stream-event": pending.extra } };
  const now = fold.ts;
  fold.ts = Math.max(pending.ts, fold.lastTs);
  const frames: StreamEventFrame[] = [];
  for (let at = 0; at < pending.calls.length; at += MAX_ANNOUNCED) {
    const calls = pending.calls.slice(at, at + MAX_ANNOUNCED) as unknown as Json;
    frames.push(createFrame(fold, envelope, "tool_calls_start", { iteration: fold.iteration, tool_calls: calls }));
  }
  fold.ts = now;
  return frames;
}

function createFrame(
  fold: StreamEventFold,
  envelope: Partial<StampedEnvelope>,
  type: StreamEventFrameType,
  fields: JsonObject,
): StreamEventFrame {
  const extra = envelope.ext === undefined ? undefined : extraOf(envelope, "stream-event");
  fold.lastTs = fold.ts;
  const { source, requestId } = fold;
  const ts = toSeconds(fold.ts);
  const common: JsonObject =
    requestId === undefined ? { type, ts, source } : { type, ts, source, request_id: requestId };
  if (extra === undefined) return { ...common, ...fields } as unknown as StreamEventFrame;
  // A frame that came in this dialect keeps its own count of rounds, or its lack of one.
  const { iteration: _iteration, ...rest } = fields;
  return mergeExtra({ ...common, ...rest }, extra) as unknown as StreamEventFrame;
}

/** The same for the one that comes by the thousand. */
function createTextDelta(fold: StreamEventFold, envelope: StampedEnvelope, content: string): StreamEventFrame {
  const { source, requestId } = fold;
  if (envelope.ext !== undefined || requestId === undefined)
    return createFrame(fold, envelope, "text_delta", { content });
  fold.lastTs = fold.ts;
  return { type: "text_delta", ts: toSeconds(fold.ts), source, request_id: requestId, content };
}

/** Milliseconds to seconds, to the microsecond; a time beyond all calendars is only divided. */
function toSeconds(ms: number): number {
  const exact = Math.round(ms * 1000) / 1_000_000;
  return Number.isFinite(exact) ? exact : ms / 1000;
}

/** The event's own fields stand at top level and, as 002 has it for retrievals, in `metadata` too. */
function withMetadata(fields: JsonObject): JsonObject {
  return { ...fields, metadata: fields };
}

/** A call without an id gets one; its result, known by the tool's name alone, takes the oldest of that name. */
function makeId(fold: StreamEventFold, event: EventOf<"tool_call">, { envelope }: StampedRecord): string {
  if (event.call_id !== undefined) return event.call_id;
  const made = `call_${envelope.event_id}`;
  const waiting = fold.madeIds.get(event.name);
  if (waiting !== undefined && waiting.length < MAX_REMEMBERED) waiting.push(made);
  else if (waiting === undefined && fold.madeIds.size < MAX_REMEMBERED) fold.madeIds.set(event.name, [made]);
  return made;
}

function takeId(fold: StreamEventFold, event: EventOf<"tool_end">, { envelope }: StampedRecord): string {
  return event.call_id ?? fold.madeIds.get(event.name)?.shift() ?? `call_${envelope.event_id}`;
}

export const STREAM_EVENT_TABLE: Table<StreamEventFold, StreamEventFrame> = {
  run_start: carried(
    "request_start",
    (fold, { message }, { envelope }) => [
      createFrame(fold, envelope, "request_start", { iteration: 0, input: message ?? "" }),
    ],
    {
      loses: ["agent", "contiguous", "context"],
      note: "`run_id` comes back as the request id",
      back: ({ request_id, run_id, message = "", source = "stream" }) => {
        const id = request_id ?? run_id;
        return { type: "run_start", message, source, ...(id === undefined ? {} : { run_id: id, request_id: id }) };
      },
    },
  ),
  run_end: carried(
    "agent_finish",
    (fold, { status }, { envelope }) =>
      status === "completed" ? [] : [createFrame(fold, envelope, "agent_finish", { content: "", status })],
    {
      loses: ["summary", "first_event_id", "last_event_id", "frame_count", "reason", "code"],
      note: "sent with the reply when the run completed",
    },
  ),
  reply: carried(
    "agent_finish",
    (fold, { reply }, { envelope }) => {
      const missing = fold.source === "execute" || !fold.text ? "" : fold.answered.missing(envelope.node_id, reply);
      const text = missing === "" ? [] : [createFrame(fold, {}, "text_delta", { content: missing })];
      return [...text, createFrame(fold, envelope, "agent_finish", { content: reply })];
    },
    { note: "on the stream path, what was not streamed of it goes out as one `text_delta` first" },
  ),
  message_chunk: carried(
    "text_delta",
    (fold, { content, channel }, { envelope }) => {
      if (channel === "thought") return NOTHING;
      if (!fold.text) {
        // Held calls are told with the same time, whether the text is told or not.
        fold.lastTs = fold.ts;
        return NOTHING;
      }
      fold.answered.add(envelope.node_id, content);
      return [createTextDelta(fold, envelope, content)];
    },
    {
      loses: ["id", "channel", "format", "is_complete"],
      note: "on the channel `thought`: left out",
      back: ({ content, channel }) =>
        channel === "thought" ? undefined : { type: "message_chunk", content, id: NODE_NAME },
    },
  ),
  tool_call: carried(
    "tool_calls_start",
    (fold, event, record) => {
      const node = record.envelope.node_id ?? "";
      let pending = fold.pending.get(node);
      if (pending === undefined) {
        pending = { calls: [], ts: fold.ts, extra: extraOf(record.envelope, "stream-event") };
        fold.pending.set(node, pending);
        fold.held.count++;
      }
      const id = makeId(fold, event, record);
      pending.calls.push({ id, name: event.name });
      if (fold.made.has(id) || fold.made.size < MAX_REMEMBERED) fold.made.set(id, true);
      return pending.calls.length < MAX_HELD ? [] : announce(fold, node);
    },
    {
      loses: ["arguments", "description", "index", "raw_arguments"],
      note: "calls made together are announced together",
      back: ({ call_id, name }) => ({
        type: "tool_call",
        ...(call_id === undefined ? {} : { call_id }),
        name,
        arguments: {},
      }),
    },
  ),
  tool_end: carried(
    "tool_result",
    (fold, event, record) => {
      const id = takeId(fold, event, record);
      const isMade = fold.made.get(id) !== false;
      fold.made.delete(id);
      if (!isMade) return NOTHING;
      const iteration = fold.rounds.get(id) ?? fold.iteration;
      fold.rounds.delete(id);
      return [
        createFrame(fold, record.envelope, "tool_result", { iteration, tool_call_id: id, content: event.result }),
      ];
    },
    {
      loses: ["is_error", "output", "error_code", "duration_ms"],
      note: "the name comes back from the announcement; a call that was never made, since the model broke off within its arguments, has none",
      back: ({ call_id, name, result }) => ({
        type: "tool_end",
        ...(call_id === undefined ? {} : { call_id }),
        name,
        result,
        is_error: false,
      }),
    },
  ),
  error: carried(
    "error",
    (fold, { stage, message }, { envelope }) => [
      createFrame(fold, envelope, "error", { iteration: fold.iteration, stage: stage ?? "unknown", message }),
    ],
    {
      loses: ["code", "error_type", "recoverable", "call_id", "details"],
      back: ({ stage = "unknown", message }) => ({ type: "error", message, stage }),
    },
  ),
  retrieval_complete: carried(
    "retrieval_complete",
    (fold, { doc_count }, { envelope }) => [
      createFrame(fold, envelope, "retrieval_complete", withMetadata({ doc_count })),
    ],
    { loses: ["query", "sources"] },
  ),
  compression_applied: carried(
    "compression_applied",
    (fold, { before_tokens, after_tokens }, { envelope }) => [
      createFrame(fold, envelope, "compression_applied", withMetadata({ before_tokens, after_tokens })),
    ],
    { loses: ["method", "covered_messages", "covered_digest", "summary"] },
  ),
  foreign: carried(
    "as it was",
    (_fold, { dialect, frame }) =>
      dialect === "stream-event" && isJsonObject(frame) ? [frame as unknown as StreamEventFrame] : [],
    {
      note: "only a frame that came in this dialect",
      back: (event) => (event.dialect === "stream-event" ? event : undefined),
    },
  ),
  tool_start: omitted("002 tells when a call is made and when it is done"),
  tool_call_chunk: omitted("002 announces calls whole"),
  tool_output: omitted("002 has no event for what a tool prints while it runs"),
  tool_progress: omitted("002 has no event for a tool's progress"),
  tool_approval: omitted("002 has no event for a call that waits for consent"),
  tool_approval_result: omitted("002 has no event for a call that waits for consent"),
  reasoning_chunk: omitted("002 streams the answer alone"),
  reasoning_end: omitted("002 streams the answer alone"),
  data: omitted("002 has no event for structured data"),
  image: omitted("002 has no event for images"),
  todo_list: omitted("002 has no event for to-do lists"),
  todo_update: omitted("002 has no event for to-do lists"),
  custom: omitted("002 has no event for data of the application's own"),
  usage: omitted("002 leaves token counts to metrics"),
  llm_start: omitted("002 does not show model calls"),
  llm_end: omitted("002 does not show model calls"),
  node_enter: omitted("002 has no node runs"),
  node_exit: omitted("002 has no node runs"),
  values: omitted("002 does not carry graph state"),
  updates: omitted("002 does not carry graph state"),
  checkpoint: omitted("002 does not carry graph state"),
  tot_expand: omitted("002 has no tree of thoughts"),
  tot_evaluate: omitted("002 has no tree of thoughts"),
  tot_backtrack: omitted("002 has no tree of thoughts"),
  got_plan: omitted("002 has no graph of thoughts"),
  got_node_start: omitted("002 has no graph of thoughts"),
  got_node_complete: omitted("002 has no graph of thoughts"),
  got_node_failed: omitted("002 has no graph of thoughts"),
  got_expand: omitted("002 has no graph of thoughts"),
};
