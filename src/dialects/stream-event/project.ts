/**
 * Creates the stream events of 002 from records. The wire, the callbacks and the stream of `agent()` all use this
 * projection. Tool calls that the model makes together are announced together when the model call ends, so they have
 * the same iteration as their results. In streams without model calls, they are announced with the next record of the
 * same node run that is not a call.
 */
import type { EventOf, Json, JsonObject, StampedRecord } from "../../protocol/index.ts";
import { isNextAttempt, isThinkingChannel, type StampedEnvelope } from "../../protocol/record.ts";
import { type Encoder, type EncoderOptions, NO_FRAMES } from "../dialect.ts";
import { extraOf, mergeExtra } from "../extra.ts";
import { createFoldEncoder, createFoldState, type FoldHooks, type FoldState } from "../fold-encoder.ts";
import { carried, type LedgerTable, listLost, omitted, ownFrames, sameRow } from "../ledger.ts";
import { GRAPH_EVENTS, SESSION_EVENTS, STATE_EVENTS, TREE_EVENTS } from "../event-groups.ts";
import { addAnswerText, findUnsentText, StreamedAnswer } from "../reply-text.ts";
import type { StreamEventFrame } from "./frames.generated.ts";
import type { StreamEventFrameType } from "./frames.ts";

interface PendingCall {
  readonly id: string;
  readonly name: string;
}

/** The state of one run. It is saved as plain data. */
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

  /**
   * Counts iterations. An iteration is a completed model call; failed attempts and summaries do not count. In streams
   * without model calls, it is a run of the node `think`.
   */
  countIteration(type: string, event: JsonObject): void {
    if ((type === "llm_start" || type === "llm_end") && event["purpose"] === "summary") return;
    if (type === "llm_start") this.countsModelCalls = true;
    if (type === "llm_end" ? isWhole(event) : !this.countsModelCalls && type === "node_exit" && event["id"] === "think")
      this.iteration++;
  }

  /** The model may stop before the call is complete: the call then has an end, but was never announced. */
  noteStreamedCall({ call_id }: EventOf<"tool_call_chunk">): void {
    if (call_id !== undefined && !this.knownCalls.has(call_id) && this.knownCalls.size < MAX_REMEMBERED)
      this.knownCalls.set(call_id, false);
  }

  announce(node: string): readonly StreamEventFrame[] {
    const pending = this.pending.get(node);
    if (pending === undefined) return NOTHING;
    this.pending.delete(node);
    this.held.count--;
    const { iteration } = this;
    for (const { id } of pending.calls) if (this.rounds.size < MAX_REMEMBERED) this.rounds.set(id, iteration);
    const envelope = pending.extra === undefined ? {} : { ext: { "stream-event": pending.extra } };
    const now = this.ts;
    this.ts = Math.max(pending.ts, this.lastTs);
    const frames: StreamEventFrame[] = [];
    for (let at = 0; at < pending.calls.length; at += MAX_ANNOUNCED) {
      const tool_calls = pending.calls.slice(at, at + MAX_ANNOUNCED) as unknown as Json;
      frames.push(this.create("tool_calls_start", envelope, { iteration, tool_calls }));
    }
    this.ts = now;
    return frames;
  }

  create(type: StreamEventFrameType, envelope: Partial<StampedEnvelope>, fields: JsonObject): StreamEventFrame {
    const extra = envelope.ext === undefined ? undefined : extraOf(envelope, "stream-event");
    this.lastTs = this.ts;
    const { source, requestId } = this;
    const ts = toSeconds(this.ts);
    const common: JsonObject =
      requestId === undefined ? { type, ts, source } : { type, ts, source, request_id: requestId };
    if (extra === undefined) return { ...common, ...fields } as unknown as StreamEventFrame;
    // A frame from this dialect keeps its own iteration, or none.
    const { iteration: _iteration, ...rest } = fields;
    return mergeExtra({ ...common, ...rest }, extra) as unknown as StreamEventFrame;
  }

  /** Like `create`, for the most frequent event. */
  createTextDelta(envelope: StampedEnvelope, content: string): StreamEventFrame {
    const { source, requestId } = this;
    if (envelope.ext !== undefined || requestId === undefined) return this.create("text_delta", envelope, { content });
    this.lastTs = this.ts;
    return { type: "text_delta", ts: toSeconds(this.ts), source, request_id: requestId, content };
  }

  /** Generates an ID for a call without one. Its result, which has only the tool name, takes the oldest ID of that tool. */
  assignCallId({ call_id, name }: EventOf<"tool_call">, { event_id }: StampedEnvelope): string {
    if (call_id !== undefined) return call_id;
    const made = `call_${event_id}`;
    const waiting = this.generatedIds.get(name);
    if (waiting !== undefined && waiting.length < MAX_REMEMBERED) waiting.push(made);
    else if (waiting === undefined && this.generatedIds.size < MAX_REMEMBERED) this.generatedIds.set(name, [made]);
    return made;
  }

  takeCallId({ call_id, name }: EventOf<"tool_end">, { event_id }: StampedEnvelope): string {
    return call_id ?? this.generatedIds.get(name)?.shift() ?? `call_${event_id}`;
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
    methods: StreamEventFold.prototype,
    create: (record) => new StreamEventFold(record, text, held),
    before(fold, { envelope, event }) {
      const { type } = event;
      fold.ts = envelope.ts ?? fold.ts;
      fold.countIteration(type, event as unknown as JsonObject);
      if (type === "tool_call_chunk") fold.noteStreamedCall(event as EventOf<"tool_call_chunk">);
      if (fold.pending.size === 0 || type === "tool_call" || type === "tool_call_chunk") return NOTHING;
      // Announce a call before any event about it, in whichever node run that is.
      if (type === "reply" || type === "run_end" || type.startsWith("tool_"))
        return [...fold.pending.keys()].flatMap((node) => fold.announce(node));
      if (fold.countsModelCalls && type !== "llm_end" && type !== "node_exit") return NOTHING;
      return fold.announce(envelope.node_id ?? "");
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

function isWhole({ finish_reason, error }: JsonObject): boolean {
  return error === undefined && finish_reason !== "error" && finish_reason !== "cancelled";
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

export const STREAM_EVENT_TABLE: LedgerTable<StreamEventFold, StreamEventFrame> = {
  run_start: carried(
    "request_start",
    (fold, { message }, { envelope }) => [
      fold.create("request_start", envelope, { iteration: 0, input: message ?? "" }),
    ],
    {
      lostFields: listLost("run_start", "run_id", "request_id", "message", "source"),
      note: "`run_id` is read back as the request ID",
    },
  ),
  run_end: carried(
    "agent_finish",
    (fold, { status }, { envelope }) =>
      status === "completed" ? [] : [fold.create("agent_finish", envelope, { content: "", status })],
    {
      lostFields: listLost("run_end", "status"),
      note: "sent with the reply if the run completed",
    },
  ),
  reply: carried(
    "agent_finish",
    (fold, { reply }, { envelope }) => {
      const missing =
        fold.source === "execute" || !fold.wantsText ? "" : findUnsentText(fold.answered, envelope.node_id, reply);
      const text = missing === "" ? [] : [fold.create("text_delta", {}, { content: missing })];
      return [...text, fold.create("agent_finish", envelope, { content: reply })];
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
      return [fold.createTextDelta(envelope, content)];
    },
    {
      lostFields: listLost("message_chunk", "content"),
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
      const id = fold.assignCallId(event, record.envelope);
      pending.calls.push({ id, name: event.name });
      if (fold.knownCalls.has(id) || fold.knownCalls.size < MAX_REMEMBERED) fold.knownCalls.set(id, true);
      return pending.calls.length < MAX_HELD ? [] : fold.announce(node);
    },
    {
      lostFields: listLost("tool_call", "call_id", "name"),
      note: "calls made together are announced together",
    },
  ),
  tool_end: carried(
    "tool_result",
    (fold, event, record) => {
      const id = fold.takeCallId(event, record.envelope);
      const isMade = fold.knownCalls.get(id) !== false;
      fold.knownCalls.delete(id);
      if (!isMade) return NOTHING;
      const iteration = fold.rounds.get(id) ?? fold.iteration;
      fold.rounds.delete(id);
      return [fold.create("tool_result", record.envelope, { iteration, tool_call_id: id, content: event.result })];
    },
    {
      lostFields: listLost("tool_end", "call_id", "name", "result"),
      note: "the tool name is taken from the announcement; a call that the model did not finish has no result",
    },
  ),
  error: carried(
    "error",
    (fold, event, { envelope }) => {
      const { stage = "unknown", message } = event;
      const { iteration } = fold;
      if (!isNextAttempt(event)) return [fold.create("error", envelope, { iteration, stage, message })];
      // What follows belongs to another iteration than the interrupted work.
      fold.iteration++;
      const { attempt } = event;
      return [fold.create("error", envelope, { iteration, stage: INTERRUPTED, message, attempt })];
    },
    {
      lostFields: listLost("error", "message", "stage", "attempt"),
      note: "an error with an `attempt` has the stage `interrupted`, and a new iteration follows",
    },
  ),
  retrieval_complete: carried(
    "retrieval_complete",
    (fold, { doc_count }, { envelope }) => [fold.create("retrieval_complete", envelope, withMetadata({ doc_count }))],
    { lostFields: ["query", "sources"] },
  ),
  compression_applied: carried(
    "compression_applied",
    (fold, { before_tokens, after_tokens }, { envelope }) => [
      fold.create("compression_applied", envelope, withMetadata({ before_tokens, after_tokens })),
    ],
    { lostFields: listLost("compression_applied", "before_tokens", "after_tokens") },
  ),
  ...sameRow(SESSION_EVENTS, omitted("002 has no event for it")),
  llm_content: omitted("only the owner may read it"),
  foreign: ownFrames("stream-event", (_fold, frame) => [frame as unknown as StreamEventFrame]),
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
