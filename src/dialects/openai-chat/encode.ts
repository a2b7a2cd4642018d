/**
 * Encodes records as chunks of the Chat Completions API: messages with one choice, usually one per run. What has no field is a chunk
 * without content that has the event in the field `loom`. Such chunks have a choice, because many clients read
 * `choices[0]` of every chunk.
 */
import type { AnyEvent, EventOf, EventType, Json, JsonObject, StampedRecord } from "../../protocol/index.ts";
import { endsRun, isThinkingChannel } from "../../protocol/record.ts";
import { trackCall, TrackedCalls } from "../call-tracker.ts";
import { addTokens, isJudgement, isSilent, ONE_THOUGHT, thoughtRow, type TokenSum } from "../client-rows.ts";
import { type Encoder, type EncoderOptions, NO_FRAMES } from "../dialect.ts";
import { dropUndefined } from "../../protocol/drop-undefined.ts";
import { createFoldEncoder } from "../fold-encoder.ts";
import {
  carried,
  converted,
  type LedgerRow,
  type LedgerTable,
  listLost,
  notReadBack,
  omitted,
  sameRow,
} from "../ledger.ts";
import { CONTENT_EVENTS, SEARCH_EVENTS, SESSION_EVENTS, STATE_EVENTS } from "../event-groups.ts";
import { openaiErrorType, statusOfFailure, toOpenaiErrorCode } from "../openai-error.ts";
import { formatOpenaiId } from "../openai-id.ts";
import {
  addPendingCall,
  addWaitingCall,
  endMessage,
  isClientCall,
  mustEndMessage,
  removePendingCall,
  WaitingCalls,
} from "../waiting-calls.ts";
import { addAnswerText, findUnsentText, StreamedAnswer } from "../reply-text.ts";
import {
  addToThoughts,
  BLANK_LINE,
  flushThoughts,
  isLiveThought,
  type ThoughtPiece,
  ThoughtQueue,
} from "../thought-queue.ts";
import { CHUNK } from "./decode.ts";

const FAILED = "The run failed";
/** Between the ID of a run and the record that ended its message before. */
const PART_MARK = ".";
const SEPARATOR = ',"loom":{"type":"separator"}';
const CANCELLED = "The run was cancelled";
const FINISH_REASONS: { readonly [reason: string]: string } = {
  stop: "stop",
  length: "length",
  content_filter: "content_filter",
};

/** The state of one message. Plain data, because encoders are saved. */
class SentCompletion {
  /** The fields that every chunk has, as JSON without the closing brace. */
  head = "";
  readonly session: string;
  readonly run: string;
  /** The record that ended the message before: a run that waits for the client has several. 0 for the first. */
  after = 0;
  readonly created: number;
  model = "loom";
  isOpen = false;
  finishReason: string | undefined;
  /** The status with which the model's provider responded to the call that failed last. */
  providerStatus: Json | undefined;
  usage: TokenSum | undefined;
  /** True if the message has text of an attempt that was repeated. */
  isRepeated = false;
  readonly answered = new StreamedAnswer();
  /** Arguments of unfinished calls as JSON. */
  readonly calls = new TrackedCalls();
  /** What the run waits for: calls for the client, in the form of the API. */
  readonly waiting = new WaitingCalls<JsonObject>();
  /** Number of calls in the message. */
  sentCalls = 0;
  readonly thoughts = new ThoughtQueue();

  constructor({ envelope, event }: StampedRecord) {
    const { run_id } = event as Partial<EventOf<"run_start">>;
    const { event_id, ts = 0, session_id: session } = envelope;
    this.session = session;
    this.run = envelope.run_id ?? run_id ?? `chatcmpl_${event_id}`;
    this.created = Math.max(0, Math.floor(ts / 1000));
  }

  /** Begins the message, unless it has begun. */
  open(event: AnyEvent): readonly string[] {
    if (this.isOpen || (this.after > 0 && isSilent(OPENAI_CHAT_TABLE, event))) return NO_FRAMES;
    this.isOpen = true;
    if (event.type === "run_start") this.model = (event as EventOf<"run_start">).agent ?? this.model;
    const { run, after, created, model } = this;
    const id = after === 0 ? run : `${run}${PART_MARK}${after}`;
    this.head = JSON.stringify({ id, object: CHUNK, created, model }).slice(0, -1);
    return [this.writeDelta('"role":"assistant","content":""')];
  }

  /** Ends the message of a run that waits for the client. The rest of the run is another message. */
  pause(eventId: number): readonly string[] {
    const frames = [...this.writeReasoning(flushThoughts(this.thoughts))];
    this.thoughts.hasSent = false;
    frames.push(...endMessage(this.waiting).map((call) => this.writeCall(call)));
    frames.push(...this.finish("tool_calls", ',"loom":{"type":"waiting"}'));
    this.after = eventId;
    this.isOpen = false;
    this.sentCalls = 0;
    this.usage = undefined;
    return frames;
  }

  /** Ends the message: with the reason, and the usage if it is known. */
  finish(reason: string, more: string): readonly string[] {
    const { head, usage } = this;
    // `null` says that the usage follows.
    const announced = usage === undefined ? "" : ',"usage":null';
    const last = `${head},"choices":[{"index":0,"delta":{},"finish_reason":"${reason}"}]${announced}${more}}`;
    return usage === undefined ? [last] : [last, `${head},"choices":[],"usage":${JSON.stringify(usage)}}`];
  }

  /** Written by hand: it is the chunk of each token. `delta` has the fields of the delta as JSON. */
  writeDelta(delta: string, more = ""): string {
    return `${this.head},"choices":[{"index":0,"delta":{${delta}},"finish_reason":null}]${more}}`;
  }

  writeText(text: string): string {
    return this.writeDelta(`"content":${JSON.stringify(text)}`);
  }

  writeReasoning(pieces: readonly ThoughtPiece[]): readonly string[] {
    return pieces.flatMap(({ content, isFirst }) => {
      if (content === "") return NO_FRAMES;
      const chunk = this.writeDelta(`"reasoning_content":${JSON.stringify(content)}`);
      if (!isFirst) return [chunk];
      return [this.writeDelta(`"reasoning_content":${JSON.stringify(BLANK_LINE)}`, SEPARATOR), chunk];
    });
  }

  /** Asks the client to carry out a call. */
  writeCall(call: JsonObject, loom: object = { type: "repeated" }): string {
    const index = this.sentCalls++;
    return this.writeDelta(`"tool_calls":[${JSON.stringify({ index, ...call })}]`, `,"loom":${JSON.stringify(loom)}`);
  }

  /** Sends an event that only clients of Loom read. */
  extend(event: object): readonly string[] {
    return [this.writeDelta("", `,"loom":${JSON.stringify(event)}`)];
  }
}

export function createOpenaiChatEncoder(_options?: EncoderOptions, saved?: unknown): Encoder {
  return createFoldEncoder<SentCompletion>(
    {
      table: OPENAI_CHAT_TABLE,
      methods: SentCompletion.prototype,
      create: (record) => new SentCompletion(record),
      before(fold, record) {
        const opening = fold.open(record.event);
        const thinking = addToThoughts(fold.thoughts, record);
        return thinking.length === 0 ? opening : [...opening, ...fold.writeReasoning(thinking)];
      },
      after: (fold, { envelope, event }) =>
        fold.isOpen && !endsRun(event) && mustEndMessage(fold.waiting) ? fold.pause(envelope.event_id) : NO_FRAMES,
    },
    saved,
  );
}

/** True for a chunk of this encoder that has only the usage. Strings of a user cannot contain the quotes. */
export function isUsageChunk(text: string): boolean {
  return text.includes(',"choices":[],"usage":');
}

/** True for the last chunk of a message of this encoder. */
export function isLastChunk(text: string): boolean {
  if (text.includes(',"choices":[],')) return true;
  return text.includes('"delta":{},"finish_reason":"') && !text.includes('"}],"usage":null');
}

/** A row for an event that only clients of Loom read. It has all its fields. */
function extension<T extends EventType>(note?: string): LedgerRow<SentCompletion, T> {
  return carried("loom", (fold, event) => fold.extend(event), { note });
}

export const OPENAI_CHAT_TABLE: LedgerTable<SentCompletion> = {
  run_start: carried("delta.role", () => NO_FRAMES, {
    lostFields: listLost("run_start", "run_id"),
    note: "the ID of the message is the ID of the run, its model is the agent",
  }),
  llm_start: omitted("a message has no steps"),
  llm_end: omitted("the reason of the last model call is the `finish_reason`", (fold, event) => {
    const { purpose = "answer", finish_reason = "" } = event;
    if (purpose === "answer") fold.finishReason = FINISH_REASONS[finish_reason] ?? fold.finishReason;
  }),
  node_enter: converted(
    "loom",
    (fold, { id, supersedes }) => {
      if (supersedes === undefined) return NO_FRAMES;
      const hasText = fold.answered.nodes.has(supersedes);
      fold.isRepeated ||= hasText;
      const mark = fold.extend({ type: "superseded", id, node_id: supersedes });
      return hasText ? [...mark, fold.writeText(BLANK_LINE)] : mark;
    },
    notReadBack(
      "only if the node run repeats an interrupted one: the mark `superseded`, and a blank line if that one had sent text, which a client cannot take back. The last chunk then has the reply",
    ),
  ),
  node_exit: omitted("a message has no node runs"),
  message_chunk: carried(
    "delta.content",
    (fold, { content, channel }, { envelope }) => {
      if (content === "" || isThinkingChannel(channel)) return NO_FRAMES;
      if (channel !== "break") addAnswerText(fold.answered, envelope.node_id, content);
      return [fold.writeText(content)];
    },
    {
      lostFields: listLost("message_chunk", "content"),
      isLost: isJudgement,
      note: `text of thoughts is sent as reasoning, and judgements are not sent; ${ONE_THOUGHT}`,
    },
  ),
  reasoning_chunk: thoughtRow(
    "delta.reasoning_content",
    listLost("reasoning_chunk", "content"),
    "not part of the API, but clients of other models read it; ",
  ),
  reasoning_end: carried("loom", (fold, event, { envelope }) =>
    isLiveThought(fold.thoughts, envelope.node_id) ? fold.extend(event) : NO_FRAMES,
  ),
  tool_call: carried(
    "loom",
    (fold, event, { envelope }) => {
      const call = trackCall(fold.calls, event, envelope, "call");
      call.arguments = event.arguments;
      addPendingCall(fold.waiting, call.id, envelope.node_id ?? "");
      return fold.extend(event);
    },
    { note: "the server runs the tool; `tool_calls` would ask the client to run it" },
  ),
  tool_start: carried(
    "loom",
    (fold, event, { envelope }) => {
      const call = trackCall(fold.calls, event, envelope, "start");
      if (!isClientCall(event)) return fold.extend(event);
      const { session, run, after } = fold;
      const id = formatOpenaiId("call", { session, run, after, call: call.id });
      const { name } = call;
      const asked = { id, type: "function", function: { name, arguments: JSON.stringify(call.arguments) } };
      addWaitingCall(fold.waiting, call.id, asked);
      return [fold.writeCall(asked, event)];
    },
    {
      note: "`delta.tool_calls` too if the client carries out the call. The message ends when all calls of the model's answer have ended or wait; the rest of the run is another message",
    },
  ),
  ...sameRow(["tool_call_chunk", "tool_output", "tool_progress", "tool_approval_result"], extension()),
  tool_end: carried("loom", (fold, event, { envelope }) => {
    removePendingCall(fold.waiting, trackCall(fold.calls, event, envelope, "end").id);
    return fold.extend(event);
  }),
  tool_approval: extension("the API has no approvals"),
  ...sameRow([...CONTENT_EVENTS, ...SEARCH_EVENTS, "foreign"], extension()),
  error: carried(
    "loom",
    (fold, event) => {
      fold.providerStatus = event.details?.["status"];
      return fold.extend(event);
    },
    { note: "clients stop at the field `error`, so it is sent only if the run does not complete" },
  ),
  ...sameRow(SESSION_EVENTS, omitted("it belongs to no message")),
  llm_content: omitted("only the owner may read it"),
  usage: carried(
    "usage",
    (fold, event) => {
      fold.usage = addTokens(fold.usage, event);
      return fold.extend(event);
    },
    { note: "in `loom`; a last chunk without choices has the sum as `usage`" },
  ),
  ...sameRow(STATE_EVENTS, omitted("clients of the Chat Completions API do not show graph state")),
  run_end: carried(
    "error",
    (fold, { status, reason, code }) => {
      if (status === "completed") return NO_FRAMES;
      const isFailed = status === "error";
      const error = {
        message: reason ?? (isFailed ? FAILED : CANCELLED),
        type: isFailed ? openaiErrorType(statusOfFailure(code, fold.providerStatus) ?? 500) : "cancelled",
        param: null,
        code: code === undefined ? null : toOpenaiErrorCode(code),
      };
      const loom = dropUndefined({ type: "run_end", status, reason, code });
      return [`${fold.head},"choices":[],"error":${JSON.stringify(error)},"loom":${JSON.stringify(loom)}}`];
    },
    {
      lostFields: listLost("run_end", "status", "reason", "code"),
      note: "also if the run was cancelled: a `finish_reason` would show the text as complete. A failure of the model's provider has the type and code of the API",
    },
  ),
  reply: carried(
    "finish_reason",
    (fold, { reply }, { envelope }) => {
      const { finishReason = "stop", isRepeated } = fold;
      const rest = findUnsentText(fold.answered, envelope.node_id, reply);
      const frames = rest === "" ? [] : [fold.writeText(rest)];
      const more = isRepeated ? `,"loom":${JSON.stringify({ type: "reply", reply })}` : "";
      return [...frames, ...fold.finish(finishReason, more)];
    },
    { note: "text that was not streamed is sent before it; read back as all text of the message" },
  ),
};
