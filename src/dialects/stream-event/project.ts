/**
 * Creates the stream events of 002 from records. The wire, the callbacks and the stream of `agent()` all use this
 * projection. Tool calls that the model makes together are announced together when the model call ends, so they have
 * the same iteration as their results. In streams without model calls, they are announced with the next record of the
 * same node run that is not a call.
 */
import { type EventOf, isJsonObject, type Json, type JsonObject, type StampedRecord } from "../../protocol/index.ts";
import { isNextAttempt, isThinkingChannel, type StampedEnvelope } from "../../protocol/record.ts";
import { type Encoder, type EncoderOptions, NO_FRAMES } from "../dialect.ts";
import { extraOf, mergeExtra } from "../extra.ts";
import { createFoldEncoder, createFoldState, type FoldHooks, type FoldState } from "../fold-encoder.ts";
import { carried, type LedgerTable, listLostRunFields, omitted, sameRow } from "../ledger.ts";
import { GRAPH_EVENTS, SESSION_EVENTS, STATE_EVENTS, TREE_EVENTS } from "../event-groups.ts";
import { addAnswerText, findUnsentText, StreamedAnswer } from "../reply-text.ts";
import type { StreamEventFrame } from "./frames.generated.ts";
import type { StreamEventFrameType } from "./frames.ts";

interface PendingCall {
  readonly id: string;
  readonly name: string;
}

/** The state of one run. No methods: it is saved as plain data. */
class StreamEventFold {
  readonly source: StreamEventFrame["source"];
  readonly requestId: string | undefined;
  /** True if `text_delta` events are wanted. */
  readonly wantsText: boolean;
  readonly held: HeldCount;
  ts = 0;
  iteration = 0;
  countsModelCalls = false;
  /** Calls not yet announced, by node run. */
  readonly pending = new Map<
    string,
    { readonly calls: PendingCall[]; readonly ts: number; readonly extra: JsonObject | undefined }
  >();
  /** Time of the last frame. Announcements of held calls must not be earlier. */
  lastTs = 0;
  /** Iteration in which each unfinished call was announced; other nodes may have moved on. */
  readonly rounds = new Map<string, number>();
  /** Unfinished calls. False while only parts of the arguments were received; such a call is not announced. */
  readonly knownCalls = new Map<string, boolean>();
  /** IDs generated for calls that have none, by tool name. */
  readonly generatedIds = new Map<string, string[]>();
  readonly answered = new StreamedAnswer();

  constructor({ envelope, event }: StampedRecord, wantsText: boolean, held: HeldCount) {
    const start = event.type === "run_start" ? (event as EventOf<"run_start">) : undefined;
    this.source = start?.source ?? "stream";
    this.requestId = start?.request_id ?? envelope.run_id ?? start?.run_id;
    this.wantsText = wantsText;
    this.held = held;
  }
}

/** The stage of an error that announces another attempt. */
const INTERRUPTED = "interrupted";
const MAX_REMEMBERED = 10_000;
/** Maximum number of calls in one frame. */
const MAX_ANNOUNCED = 1000;
const MAX_HELD = 10_000;
const NOTHING: readonly StreamEventFrame[] = [];

export interface StreamEventProjection {
  /** Returns the events of a record in order: usually one, sometimes none. */
  project(record: StampedRecord): readonly StreamEventFrame[];
  /** Number of records dropped because they belong to no run. */
  readonly dropped: number;
  /** Returns the state, see `Encoder`. */
  save(): unknown;
}

/** Number of node runs with calls not yet announced, over all runs. */
interface HeldCount {
  count: number;
}

export interface ProjectionOptions {
  /** False omits `text_delta`, which makes text records almost free; everything else stays the same. Default: true. */
  readonly text?: boolean;
}

export function createStreamEventProjection(
  { text = true }: ProjectionOptions = {},
  saved?: unknown,
): StreamEventProjection {
  const state = (saved ?? createFoldState({ count: 0 })) as FoldState<StreamEventFold, HeldCount>;
  const held = state.shared;
  const hooks: FoldHooks<StreamEventFold, StreamEventFrame> = {
    table: STREAM_EVENT_TABLE,
    create: (record) => new StreamEventFold(record, text, held),
    before(fold, { envelope, event }) {
      const { type } = event;
      fold.ts = envelope.ts ?? fold.ts;
      countIteration(fold, type, event as unknown as JsonObject);
      if (type === "tool_call_chunk") noteStreamedCall(fold, event as EventOf<"tool_call_chunk">);
      if (fold.pending.size === 0 || type === "tool_call" || type === "tool_call_chunk") return NOTHING;
      // Announce a call before any event about it, in whichever node run that is.
      if (type === "reply" || type === "run_end" || type.startsWith("tool_"))
        return [...fold.pending.keys()].flatMap((node) => announce(fold, node));
      if (fold.countsModelCalls && type !== "llm_end" && type !== "node_exit") return NOTHING;
      return announce(fold, envelope.node_id ?? "");
    },
  };
  const folds = createFoldEncoder(hooks, state);
  return {
    save: () => folds.save(),
    project(record) {
      // Without text, a chunk only matters if it triggers the announcement of held calls.
      if (!text && held.count === 0 && record.event.type === "message_chunk") return NOTHING;
      return folds.encode(record);
    },
    get dropped() {
      return folds.dropped;
    },
  };
}

/** Encodes the stream events as JSON. */
export function createStreamEventEncoder(_options: EncoderOptions = {}, saved?: unknown): Encoder {
  const projection = createStreamEventProjection({}, saved);
  return {
    save: () => projection.save(),
    get dropped() {
      return projection.dropped;
    },
    encode(record) {
      const frames = projection.project(record);
      const [first] = frames;
      if (first === undefined) return NO_FRAMES;
      return frames.length === 1 ? [JSON.stringify(first)] : frames.map((frame) => JSON.stringify(frame));
    },
  };
}

/**
 * Counts iterations. An iteration is a completed model call; failed attempts and summaries do not count. In streams
 * without model calls, it is a run of the node `think`.
 */
function countIteration(fold: StreamEventFold, type: string, event: JsonObject): void {
  if ((type === "llm_start" || type === "llm_end") && event["purpose"] === "summary") return;
  if (type === "llm_start") fold.countsModelCalls = true;
  if (type === "llm_end" ? isWhole(event) : !fold.countsModelCalls && type === "node_exit" && event["id"] === "think")
    fold.iteration++;
}

function isWhole({ finish_reason, error }: JsonObject): boolean {
  return error === undefined && finish_reason !== "error" && finish_reason !== "cancelled";
}

/** The model may stop before the call is complete: the call then has an end, but was never announced. */
function noteStreamedCall({ knownCalls }: StreamEventFold, { call_id }: EventOf<"tool_call_chunk">): void {
  if (call_id !== undefined && !knownCalls.has(call_id) && knownCalls.size < MAX_REMEMBERED)
    knownCalls.set(call_id, false);
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
  // A frame from this dialect keeps its own iteration, or none.
  const { iteration: _iteration, ...rest } = fields;
  return mergeExtra({ ...common, ...rest }, extra) as unknown as StreamEventFrame;
}

/** Like `createFrame`, for the most frequent event. */
function createTextDelta(fold: StreamEventFold, envelope: StampedEnvelope, content: string): StreamEventFrame {
  const { source, requestId } = fold;
  if (envelope.ext !== undefined || requestId === undefined)
    return createFrame(fold, envelope, "text_delta", { content });
  fold.lastTs = fold.ts;
  return { type: "text_delta", ts: toSeconds(fold.ts), source, request_id: requestId, content };
}

/** Converts milliseconds to seconds, rounded to microseconds. Times beyond the range of rounding are only divided. */
function toSeconds(ms: number): number {
  const exact = Math.round(ms * 1000) / 1_000_000;
  return Number.isFinite(exact) ? exact : ms / 1000;
}

/** The fields of the event are at the top level and also in `metadata`, as 002 shows for retrievals. */
function withMetadata(fields: JsonObject): JsonObject {
  return { ...fields, metadata: fields };
}

/**
 * Generates an ID for a call without one. Its result, which has only the tool name, takes the oldest ID of that tool.
 */
function assignCallId(fold: StreamEventFold, event: EventOf<"tool_call">, { envelope }: StampedRecord): string {
  if (event.call_id !== undefined) return event.call_id;
  const made = `call_${envelope.event_id}`;
  const waiting = fold.generatedIds.get(event.name);
  if (waiting !== undefined && waiting.length < MAX_REMEMBERED) waiting.push(made);
  else if (waiting === undefined && fold.generatedIds.size < MAX_REMEMBERED) fold.generatedIds.set(event.name, [made]);
  return made;
}

function takeCallId(fold: StreamEventFold, event: EventOf<"tool_end">, { envelope }: StampedRecord): string {
  return event.call_id ?? fold.generatedIds.get(event.name)?.shift() ?? `call_${envelope.event_id}`;
}

export const STREAM_EVENT_TABLE: LedgerTable<StreamEventFold, StreamEventFrame> = {
  run_start: carried(
    "request_start",
    (fold, { message }, { envelope }) => [
      createFrame(fold, envelope, "request_start", { iteration: 0, input: message ?? "" }),
    ],
    {
      lostFields: listLostRunFields("run_id", "request_id", "message", "source"),
      note: "`run_id` is read back as the request ID",
    },
  ),
  run_end: carried(
    "agent_finish",
    (fold, { status }, { envelope }) =>
      status === "completed" ? [] : [createFrame(fold, envelope, "agent_finish", { content: "", status })],
    {
      lostFields: ["summary", "first_event_id", "last_event_id", "frame_count", "has_reply", "reason", "code"],
      note: "sent with the reply if the run completed",
    },
  ),
  reply: carried(
    "agent_finish",
    (fold, { reply }, { envelope }) => {
      const missing =
        fold.source === "execute" || !fold.wantsText ? "" : findUnsentText(fold.answered, envelope.node_id, reply);
      const text = missing === "" ? [] : [createFrame(fold, {}, "text_delta", { content: missing })];
      return [...text, createFrame(fold, envelope, "agent_finish", { content: reply })];
    },
    { note: "with `source: stream`, the part that was not streamed is sent first as one `text_delta`" },
  ),
  message_chunk: carried(
    "text_delta",
    (fold, { content, channel }, { envelope }) => {
      if (isThinkingChannel(channel)) return NOTHING;
      if (!fold.wantsText) {
        // Held calls must get the same time whether or not text is sent.
        fold.lastTs = fold.ts;
        return NOTHING;
      }
      if (channel !== "break") addAnswerText(fold.answered, envelope.node_id, content);
      return [createTextDelta(fold, envelope, content)];
    },
    {
      lostFields: ["id", "channel", "format", "is_complete"],
      note: "omitted on the channels `thought` and `judgement`",
      isLost: ({ channel }) => isThinkingChannel(channel),
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
      const id = assignCallId(fold, event, record);
      pending.calls.push({ id, name: event.name });
      if (fold.knownCalls.has(id) || fold.knownCalls.size < MAX_REMEMBERED) fold.knownCalls.set(id, true);
      return pending.calls.length < MAX_HELD ? [] : announce(fold, node);
    },
    {
      lostFields: ["arguments", "description", "index", "raw_arguments", "server"],
      note: "calls made together are announced together",
    },
  ),
  tool_end: carried(
    "tool_result",
    (fold, event, record) => {
      const id = takeCallId(fold, event, record);
      const isMade = fold.knownCalls.get(id) !== false;
      fold.knownCalls.delete(id);
      if (!isMade) return NOTHING;
      const iteration = fold.rounds.get(id) ?? fold.iteration;
      fold.rounds.delete(id);
      return [
        createFrame(fold, record.envelope, "tool_result", { iteration, tool_call_id: id, content: event.result }),
      ];
    },
    {
      lostFields: ["is_error", "output", "error_code", "duration_ms", "actor", "summary"],
      note: "the tool name is taken from the announcement; a call that the model did not finish has no result",
    },
  ),
  error: carried(
    "error",
    (fold, event, { envelope }) => {
      const { stage = "unknown", message } = event;
      const { iteration } = fold;
      if (!isNextAttempt(event)) return [createFrame(fold, envelope, "error", { iteration, stage, message })];
      // What follows belongs to another iteration than the interrupted work.
      fold.iteration++;
      const { attempt } = event;
      return [createFrame(fold, envelope, "error", { iteration, stage: INTERRUPTED, message, attempt })];
    },
    {
      lostFields: ["code", "error_type", "recoverable", "call_id", "details"],
      note: "an error with an `attempt` has the stage `interrupted`, and a new iteration follows",
    },
  ),
  retrieval_complete: carried(
    "retrieval_complete",
    (fold, { doc_count }, { envelope }) => [
      createFrame(fold, envelope, "retrieval_complete", withMetadata({ doc_count })),
    ],
    { lostFields: ["query", "sources"] },
  ),
  compression_applied: carried(
    "compression_applied",
    (fold, { before_tokens, after_tokens }, { envelope }) => [
      createFrame(fold, envelope, "compression_applied", withMetadata({ before_tokens, after_tokens })),
    ],
    { lostFields: ["method", "covered_messages", "covered_digest", "summary"] },
  ),
  ...sameRow(SESSION_EVENTS, omitted("002 has no event for it")),
  llm_content: omitted("only the owner may read it"),
  foreign: carried(
    "original frame",
    (_fold, { dialect, frame }) =>
      dialect === "stream-event" && isJsonObject(frame) ? [frame as unknown as StreamEventFrame] : [],
    {
      note: "only frames that came from this dialect",
      isLost: ({ dialect }) => dialect !== "stream-event",
    },
  ),
  tool_start: omitted("002 reports only when a call is made and when it ends"),
  tool_call_chunk: omitted("002 announces only complete calls"),
  tool_output: omitted("002 has no event for tool output"),
  tool_progress: omitted("002 has no event for tool progress"),
  ...sameRow(["tool_approval", "tool_approval_result"], omitted("002 has no event for approvals")),
  ...sameRow(["reasoning_chunk", "reasoning_end"], omitted("002 streams only the answer")),
  data: omitted("002 has no event for structured data"),
  image: omitted("002 has no event for images"),
  ...sameRow(["todo_list", "todo_update"], omitted("002 has no event for to-do lists")),
  custom: omitted("002 has no event for application data"),
  usage: omitted("002 reports token counts as metrics"),
  ...sameRow(["llm_start", "llm_end"], omitted("002 does not show model calls")),
  ...sameRow(["node_enter", "node_exit"], omitted("002 has no node runs")),
  ...sameRow(STATE_EVENTS, omitted("002 does not carry graph state")),
  ...sameRow(TREE_EVENTS, omitted("002 has no trees of thoughts")),
  ...sameRow(GRAPH_EVENTS, omitted("002 has no graphs of thoughts")),
};
