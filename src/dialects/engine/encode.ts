/**
 * Encodes records as frames of 003. The fold counts the sequence, stores calls until their tool starts, and tracks the
 * streamed answer.
 */
import type { AnyEvent, EventOf, JsonObject, StampedRecord } from "../../protocol/index.ts";
import { isJsonObject } from "../../protocol/json.ts";
import { detectLanguage, type Language } from "../../protocol/detect-language.ts";
import { errorTypeOf } from "../../protocol/error-codes.ts";
import { isNextAttempt, isThinkingChannel } from "../../protocol/record.ts";
import { hasLoomKey, wrapEvent } from "../../protocol/strict.ts";
import { isJudgement, ONE_THOUGHT, thoughtRow } from "../client-rows.ts";
import { type Encoder, type EncoderOptions, NO_FRAMES } from "../dialect.ts";
import { extraOf, mergeExtra } from "../extra.ts";
import { createFoldEncoder, type FoldHooks } from "../fold-encoder.ts";
import { dropUndefined } from "../../protocol/drop-undefined.ts";
import { carried, converted, type LedgerTable, listLost, omitted, ownFrames, sameRow } from "../ledger.ts";
import { GRAPH_EVENTS, SESSION_EVENTS, STATE_EVENTS } from "../event-groups.ts";
import { trackCall, type TrackedCall, TrackedCalls } from "../call-tracker.ts";
import { addAnswerText, findUnsentText, StreamedAnswer } from "../reply-text.ts";
import { outputObject, resultObject } from "../tool-values.ts";
import { addToThoughts, BLANK_LINE, type ThoughtPiece, ThoughtQueue } from "../thought-queue.ts";
import { describeErrorFor, TOOL_LEAD } from "../lumine/error-texts.ts";
import type { LocalizedText } from "../../protocol/schema.ts";
import type { EngineFrameType } from "./frames.ts";

class EngineFold {
  readonly sessionId: string;
  readonly requestId: string;
  readonly startedAt: number;
  readonly debug: boolean;
  /** Times are sent in seconds. */
  readonly inSeconds: boolean;
  /** Language of the user's message, for texts that the encoder writes. */
  readonly language: Language;
  /**
   * The run has an agent, whose events leave out `stage`, `format`, `is_complete`, and sometimes the description or the
   * duration of a call; the frames have them. Other senders decide for themselves.
   */
  readonly isAgentRun: boolean;
  /** Answer text was sent, and none of it was marked as the last piece. */
  isAnswerOpen = false;
  opened = false;
  attempt = 1;
  sequence = 0;
  ts = 0;
  readonly calls = new TrackedCalls();
  readonly answered = new StreamedAnswer();
  readonly thoughts = new ThoughtQueue();
  /** True once a tool has ended: the agent then thinks about results. */
  hasResults = false;
  end: EventOf<"run_end"> | undefined;
  tokens = 0;
  toolCalls = 0;

  constructor({ envelope, event }: StampedRecord, { debug = false, timestamps }: EncoderOptions) {
    const named = event.type === "run_start" ? (event as EventOf<"run_start">) : undefined;
    this.sessionId = envelope.session_id;
    this.requestId = named?.request_id ?? envelope.run_id ?? named?.run_id ?? `req-${envelope.event_id}`;
    this.startedAt = envelope.ts ?? 0;
    this.debug = debug;
    this.inSeconds = timestamps === "seconds";
    this.language = detectLanguage(named?.message ?? "");
    this.isAgentRun = named?.agent !== undefined;
  }

  open(envelope: object): readonly string[] {
    this.opened = true;
    return [this.write("session_start", { session_id: this.sessionId, request_id: this.requestId }, envelope)];
  }

  write(type: EngineFrameType, data: JsonObject, envelope: object, more?: JsonObject): string {
    const extra = extraOf(envelope, "engine");
    const frame = { type, data, metadata: this.createMetadata(more) };
    return JSON.stringify(extra === undefined ? frame : mergeExtra(frame, extra));
  }

  /** The metadata of the next frame. */
  createMetadata(more?: JsonObject): JsonObject {
    const { requestId: request_id, ts, inSeconds, attempt } = this;
    const timestamp = inSeconds ? Math.floor(ts / 1000) : Math.round(ts);
    return { request_id, timestamp, sequence: this.sequence++, ...(attempt > 1 ? { attempt } : {}), ...more };
  }

  startCall(call: TrackedCall, envelope: object): string {
    call.shown = true;
    call.startedAt = this.ts;
    this.toolCalls++;
    const ownDescription = this.isAgentRun ? `${USE_TOOL[this.language]} ${call.name}` : undefined;
    const data = dropUndefined({
      tool_id: call.id,
      tool_name: call.name,
      description: call.description ?? ownDescription,
      arguments: call.arguments,
    });
    return this.write("tool_call_start", data, envelope);
  }

  endRun(status: EventOf<"run_end">["status"], envelope: object): string {
    const totals = dropUndefined({
      total_tokens: this.tokens > 0 ? this.tokens : undefined,
      duration_ms: this.startedAt > 0 ? Math.max(0, this.ts - this.startedAt) : undefined,
      tool_calls: this.toolCalls,
    });
    const summary = this.end === undefined ? totals : (this.end.summary as JsonObject | undefined);
    return this.write("session_end", dropUndefined({ status, summary }), envelope);
  }

  /** Marks the answer of an agent as complete if its last piece was sent without a mark. */
  completeAnswer(): readonly string[] {
    if (!this.isAgentRun || !this.isAnswerOpen) return [];
    return [this.write("content", { content: "", format: DEFAULT_FORMAT, is_complete: true }, {})];
  }

  writeThinking(pieces: readonly ThoughtPiece[], envelope: object): readonly string[] {
    return pieces.map(({ content, node, stage: given, isFirst, isLive }, index) => {
      const stage = this.isAgentRun ? (given ?? this.findStage(node ?? "")) : given;
      const data = dropUndefined({ content: isFirst ? BLANK_LINE + content : content, stage });
      // Fields of the original frame belong to what it sent itself.
      return this.write("thinking", data, isLive && index === 0 ? envelope : {});
    });
  }

  /** The stage of 003 for the thoughts of a node: what it does, or `analyzing` once there are results of tools. */
  private findStage(node: string): "planning" | "analyzing" | "reasoning" {
    if (/plan|expand/.test(node)) return "planning";
    return this.hasResults || /evaluate|judge|score|aggregate|answer/.test(node) ? "analyzing" : "reasoning";
  }
}

/** Describes a call to a tool that has no description for users. */
const USE_TOOL: LocalizedText = { en: "Use", zh: "调用" };
const DEFAULT_FORMAT = "markdown";
/** The code of a failed tool without one. */
const TOOL_FAILED = "tool_failed";

export function createEngineEncoder(options: EncoderOptions = {}, saved?: unknown): Encoder {
  const hooks: FoldHooks<EngineFold> = {
    table: ENGINE_TABLE,
    methods: EngineFold.prototype,
    create: (record) => new EngineFold(record, options),
    before(fold, record) {
      fold.ts = record.envelope.ts ?? fold.ts;
      const opening = fold.opened || record.event.type === "run_start" ? NO_FRAMES : fold.open({});
      const thinking = addToThoughts(fold.thoughts, record);
      return thinking.length === 0 ? opening : [...opening, ...fold.writeThinking(thinking, record.envelope)];
    },
  };
  return createFoldEncoder(hooks, saved);
}

/** The error of a failed tool, for users. Its original message follows if it differs. */
function describeFailure(language: Language, { result, error_code: code = TOOL_FAILED }: EventOf<"tool_end">) {
  const { error: message, detail } = describeErrorFor(language, { message: result, code, lead: TOOL_LEAD });
  return dropUndefined({ message, code, detail });
}

/** Sends an event without a frame in 003 as application data; our decoder unwraps it. */
function asCustomData(fold: EngineFold, event: AnyEvent, { envelope }: StampedRecord): readonly string[] {
  return [fold.write("data", { data_type: "custom", data: wrapEvent(event) }, envelope)];
}

const CUSTOM_DATA = { note: "with data_type `custom` and `$loom`" };

export const ENGINE_TABLE: LedgerTable<EngineFold> = {
  run_start: carried("session_start", (fold, _event, { envelope }) => fold.open(envelope), {
    lostFields: listLost("run_start", "run_id", "request_id"),
    note: "`run_id` is read back as the request ID; generated if there is none",
  }),
  run_end: carried(
    "session_end",
    (fold, event, { envelope }) => {
      fold.end = event;
      return event.status === "completed" ? [] : [...fold.completeAnswer(), fold.endRun(event.status, envelope)];
    },
    {
      lostFields: listLost("run_end", "status", "summary"),
      note: "sent with the reply if the run completed",
    },
  ),
  reply: carried(
    "session_end",
    (fold, { reply }, { envelope }) => {
      const missing = findUnsentText(fold.answered, envelope.node_id, reply);
      const isMarked = fold.isAgentRun && (fold.isAnswerOpen || missing !== "");
      const data = isMarked
        ? { content: missing, format: DEFAULT_FORMAT, is_complete: true }
        : missing === ""
          ? undefined
          : { content: missing };
      const text = data === undefined ? [] : [fold.write("content", data, {})];
      return [...text, fold.endRun("completed", envelope)];
    },
    {
      note: "the reply is the text of all `content` frames; the part that was not streamed is sent first as one frame, which an agent's run always has, with `is_complete`",
    },
  ),
  message_chunk: carried(
    "content",
    (fold, event, { envelope }) => {
      const { content, channel, format, is_complete } = event;
      const { isAgentRun } = fold;
      if (isThinkingChannel(channel)) return [];
      if (channel !== "break") addAnswerText(fold.answered, envelope.node_id, content);
      fold.isAnswerOpen = is_complete !== true;
      const about = isAgentRun
        ? { format: format ?? DEFAULT_FORMAT, is_complete: is_complete ?? false }
        : dropUndefined({ format, is_complete });
      return [fold.write("content", { content, ...about }, envelope)];
    },
    {
      lostFields: ["id", "channel"],
      note: `sent as \`thinking\` on the channel \`thought\`, and not on \`judgement\`; ${ONE_THOUGHT}; in an agent's run with \`stage\`, or \`format\` and \`is_complete\``,
      isLost: isJudgement,
    },
  ),
  reasoning_chunk: thoughtRow("thinking", ["id", "channel"], "with a `stage` in an agent's run; "),
  reasoning_end: omitted("003 does not mark the end of reasoning"),
  tool_call: carried(
    "tool_call_start",
    (fold, event, record) => {
      const call = trackCall(fold.calls, event, record.envelope, "call");
      call.arguments = event.arguments;
      call.description = event.description;
      return [];
    },
    {
      lostFields: ["index", "raw_arguments", "server"],
      note: "sent when the tool starts, or before the end of a call that was refused; in an agent's run always with a `description`",
    },
  ),
  tool_start: carried(
    "tool_call_start",
    (fold, event, { envelope }) => [fold.startCall(trackCall(fold.calls, event, envelope, "start"), envelope)],
    { lostFields: ["executor", "expires_at"] },
  ),
  tool_progress: carried(
    "tool_call_progress",
    (fold, event, { envelope }) => {
      const { progress, message = "" } = event;
      const { id: tool_id } = trackCall(fold.calls, event, envelope, "running");
      return [fold.write("tool_call_progress", { tool_id, progress, message }, envelope)];
    },
    { note: "the tool name is taken from its start; `message` is empty if there is none" },
  ),
  tool_end: carried(
    "tool_call_end",
    (fold, event, record) => {
      const call = trackCall(fold.calls, event, record.envelope, "end");
      const opening = call.shown ? [] : [fold.startCall(call, {})];
      const data = event.is_error
        ? dropUndefined({
            tool_id: call.id,
            status: "failed",
            result: event.output === undefined ? undefined : outputObject(event.output),
            error: describeFailure(fold.language, event),
          })
        : dropUndefined({ tool_id: call.id, status: "success", result: resultObject(event) });
      fold.hasResults = true;
      const measured = fold.isAgentRun ? Math.max(0, fold.ts - (call.startedAt ?? fold.ts)) : undefined;
      const more = dropUndefined({ duration_ms: event.duration_ms ?? measured });
      return [...opening, fold.write("tool_call_end", data, record.envelope, more)];
    },
    {
      lostFields: ["summary", "actor"],
      note: "`result` holds the data if there is any, otherwise the text; a failed tool always has a code, and its message is in the language of the conversation, the original in `detail`; in an agent's run always with `duration_ms`",
    },
  ),
  tool_call_chunk: omitted("003 sends the complete arguments when the tool starts"),
  tool_output: omitted("003 has no frame for tool output"),
  tool_approval_result: converted(
    "data",
    (fold, event, record) => {
      const call = trackCall(fold.calls, event, record.envelope, "before");
      if (event.arguments !== undefined) call.arguments = event.arguments;
      return asCustomData(fold, event, record);
    },
    CUSTOM_DATA,
  ),
  data: carried("data", (fold, event, record) => {
    const { data_type, data, metadata } = event;
    // Wrap application data that looks like a wrapped event, so that it is not mistaken for one.
    if (data_type === "custom" && hasLoomKey(data)) return asCustomData(fold, event, record);
    return [fold.write("data", dropUndefined({ data_type, data, metadata }), record.envelope)];
  }),
  image: converted(
    "data",
    (fold, { url, media_type, alt }, { envelope }) => [
      fold.write("data", { data_type: "image", data: dropUndefined({ url, media_type, alt }) }, envelope),
    ],
    { note: "with data_type `image`" },
  ),
  ...sameRow(["tool_approval", "todo_list", "todo_update", "custom"], converted("data", asCustomData, CUSTOM_DATA)),
  error: carried(
    "error",
    (fold, event, { envelope }) => {
      const { stack_trace: _stack, ...safe } = event.details ?? {};
      const details = fold.debug ? event.details : event.details === undefined ? undefined : safe;
      const { message, recoverable = false, code, stage } = event;
      if (isNextAttempt(event)) {
        fold.attempt = event.attempt;
        fold.isAnswerOpen = false;
      }
      const data = dropUndefined({ error_type: errorTypeOf(event), message, details, recoverable, code, stage });
      return [fold.write("error", data, envelope)];
    },
    {
      lostFields: ["call_id"],
      note: "`details.stack_trace` is sent only in debug mode; `attempt`, with code `interrupted`, is in the metadata of this frame and of all that follow",
    },
  ),
  usage: omitted("003 has only the total, in session_end.summary", (fold, { total_tokens }) => {
    fold.tokens += total_tokens;
  }),
  ...sameRow(SESSION_EVENTS, omitted("003 has no frame for it")),
  llm_content: omitted("only the owner may read it"),
  foreign: ownFrames("engine", (fold, frame) => {
    const metadata = isJsonObject(frame["metadata"]) ? frame["metadata"] : {};
    return [JSON.stringify({ ...frame, metadata: { ...metadata, ...fold.createMetadata() } })];
  }),
  ...sameRow(["node_enter", "node_exit"], omitted("003 has no node runs")),
  ...sameRow(STATE_EVENTS, omitted("003 does not carry graph state")),
  tot_expand: omitted("003 has no trees of thoughts; the text is sent as `thinking`"),
  ...sameRow(["tot_evaluate", "tot_backtrack"], omitted("003 has no trees of thoughts")),
  ...sameRow(GRAPH_EVENTS, omitted("003 has no graphs of thoughts")),
  got_plan: omitted("003 has no graphs of thoughts; the text is sent as `thinking`"),
  retrieval_complete: omitted("003 has no frame for retrievals"),
  compression_applied: omitted("003 has no frame for compression"),
  ...sameRow(["llm_start", "llm_end"], omitted("003 does not show model calls")),
};
