/**
 * Encodes records as frames of 004: all twelve base fields on every frame, and `[DONE]` last and exactly once. IDs are
 * derived from the session, the record and the frame's position in it.
 */
import {
  type EventOf,
  type EventType,
  isJsonObject,
  type Json,
  type JsonObject,
  type StampedRecord,
} from "../../protocol/index.ts";
import { BoundedMap } from "../../protocol/bounded-map.ts";
import { isForkNotice, isNextAttempt, isTerminal, type StampedEnvelope } from "../../protocol/record.ts";
import { deriveId } from "../derive-id.ts";
import { type Encoder, type EncoderOptions, NO_FRAMES } from "../dialect.ts";
import { extraOf, mergeExtra } from "../extra.ts";
import { createFoldEncoder, createFoldState, type FoldHooks, type FoldState } from "../fold-encoder.ts";
import { dropUndefined } from "../drop-undefined.ts";
import { carried, converted, omitted, type LedgerTable } from "../ledger.ts";
import { createTrackedCalls, trackCall, type TrackedCall, type TrackedCalls } from "../call-tracker.ts";
import { addAnswerText, createStreamedAnswer, findUnsentText, type StreamedAnswer } from "../reply-text.ts";
import { DEFAULT_NODE_NAME, resultValue, splitResult } from "../tool-values.ts";
import { detectLanguage, type Language } from "../../protocol/detect-language.ts";
import type { LocalizedText } from "../../protocol/schema.ts";
import { DONE } from "./decode.ts";
import { describeErrorFor, describeRunFailure, RUN_AGAIN, RUN_FORKED, TOOL_LEAD } from "./error-texts.ts";
import type { LumineFrameType } from "./frames.ts";
import { writeMarkdownTable } from "./write-markdown-table.ts";

interface LumineFold {
  readonly sessionId: string;
  /** Language of the user's message, for texts that the encoder writes. */
  language: Language;
  /** Derived, unless the original frames had one. */
  conversationId: string;
  opened: boolean;
  /** ID of the current chunk message; any other kind of frame ends it. */
  messageId: string | undefined;
  thinking: boolean;
  errorShown: boolean;
  /** The latest failure of a tool, which has no `error` frame unless the run fails. */
  toolFailure: EventOf<"error"> | undefined;
  /** True once a chunk with text was sent. */
  hasText: boolean;
  /** True if the previous frame is an error: [DONE] must then state that the run completed nevertheless. */
  lastWasError: boolean;
  readonly answered: StreamedAnswer;
  readonly calls: TrackedCalls;
}

/** Maximum number of records outside a request that wait for the next one; beyond it the oldest is dropped. */
const MAX_HELD = 1000;
/** Maximum number of sessions with an active request, and of active requests per session. */
const MAX_LIVE_SESSIONS = 1000;
const MAX_LIVE_REQUESTS = 1000;

/** State of an encoder that belongs to no single request. */
interface LumineShared {
  /** Records outside a request that wait for the next one. */
  held: StampedRecord[];
  /** Active requests by session. While there is one, records of the session are not held. */
  readonly live: Map<string, Set<string>>;
}

export function createLumineEncoder({ follow = false }: EncoderOptions = {}, saved?: unknown): Encoder {
  const state = (saved ?? createFoldState({ held: [], live: new Map() })) as FoldState<LumineFold, LumineShared>;
  const { shared } = state;
  const create = ({ envelope }: StampedRecord): LumineFold => ({
    sessionId: envelope.session_id,
    language: "en",
    conversationId: deriveId(envelope.session_id, "conversation"),
    opened: false,
    messageId: undefined,
    thinking: false,
    errorShown: false,
    toolFailure: undefined,
    hasText: false,
    lastWasError: false,
    answered: createStreamedAnswer(),
    calls: createTrackedCalls(),
  });
  const encodeRunless = (record: StampedRecord) => {
    const row = LUMINE_TABLE[record.event.type as "todo_update"];
    return row.encode?.(create(record), record.event as EventOf<"todo_update">, record) ?? NO_FRAMES;
  };
  const live = new BoundedMap(MAX_LIVE_SESSIONS, undefined, shared.live);
  const release = (session: string): readonly string[] => {
    if (shared.held.length === 0) return NO_FRAMES;
    const waiting = shared.held.filter((record) => record.envelope.session_id === session);
    shared.held = shared.held.filter((record) => record.envelope.session_id !== session);
    return waiting.flatMap(encodeRunless);
  };
  const hooks: FoldHooks<LumineFold> = {
    table: LUMINE_TABLE,
    held: () => shared.held.length,
    create(record) {
      const { session_id, run_id = "" } = record.envelope;
      const going = live.getOrCreate(session_id, () => new Set());
      if (going.size < MAX_LIVE_REQUESTS) going.add(run_id);
      return create(record);
    },
    before(fold, { envelope, event }) {
      const { session_id, run_id = "" } = envelope;
      if (isTerminal(event) && live.get(session_id)?.delete(run_id) === true && live.get(session_id)?.size === 0)
        live.delete(session_id);
      if (fold.opened || event.type === "run_start") return NO_FRAMES;
      return [...open(fold, envelope), ...release(session_id)];
    },
    after: (_fold, { envelope, event }) => (event.type === "run_start" ? release(envelope.session_id) : NO_FRAMES),
    encodeRunless(record) {
      if (follow || live.get(record.envelope.session_id) !== undefined) return encodeRunless(record);
      if (LUMINE_TABLE[record.event.type as EventType].support === "omitted") return NO_FRAMES;
      shared.held.push(record);
      if (shared.held.length > MAX_HELD) shared.held.shift();
      return NO_FRAMES;
    },
  };
  return createFoldEncoder(hooks, state);
}

/** The first session_id frame of a session has no conversation ID. */
function open(fold: LumineFold, envelope: StampedEnvelope): readonly string[] {
  fold.opened = true;
  const first = envelope.event_id <= 1;
  return [
    frameText(fold, envelope, "session_id", {
      id: deriveId(fold.sessionId, envelope.event_id, "session"),
      ...(first ? { conversation_id: null } : {}),
    }),
  ];
}

/** Creates a frame: the base fields with their nulls, then the fields of the type. */
function frameText(
  fold: LumineFold,
  envelope: StampedEnvelope,
  type: LumineFrameType,
  fields: JsonObject,
  index = 0,
): string {
  const extra = extraOf(envelope, "lumine");
  fold.lastWasError = type === "error";
  const frame: { [name: string]: Json } = {
    type,
    id: deriveId(fold.sessionId, envelope.event_id, index),
    role: "assistant",
    session_id: fold.sessionId,
    conversation_id: fold.conversationId,
    tool_use_id: null,
    content: null,
    toolName: null,
    args: null,
    result: null,
    status: null,
    error: null,
    ...fields,
  };
  if (extra === undefined) return JSON.stringify(frame);
  const { id, conversation_id, ...more } = extra;
  if (id !== undefined) frame["id"] = id;
  if (conversation_id !== undefined) frame["conversation_id"] = conversation_id;
  if (typeof conversation_id === "string") fold.conversationId = conversation_id;
  return JSON.stringify(mergeExtra(frame, more));
}

/** Ends the current message, and the reasoning unless `keepsThinking` is set. */
function settle(fold: LumineFold, envelope: StampedEnvelope, keepsThinking = false): string[] {
  fold.messageId = undefined;
  return keepsThinking ? [] : endThinking(fold, envelope);
}

function endThinking(fold: LumineFold, envelope: StampedEnvelope): string[] {
  if (!fold.thinking) return [];
  fold.thinking = false;
  return [frameText(fold, without(envelope), "reasoning", { content: "", status: "done" }, 9)];
}

/** Removes the extra fields of the original frame, for frames that the encoder adds. */
function without({ session_id, event_id }: StampedEnvelope): StampedEnvelope {
  return { session_id, event_id };
}

function think(fold: LumineFold, envelope: StampedEnvelope, content: string): readonly string[] {
  const opening = settle(fold, envelope, true);
  fold.thinking = true;
  return [...opening, frameText(fold, envelope, "reasoning", { content, status: "thinking" })];
}

function chunks(fold: LumineFold, envelope: StampedEnvelope, content: string): readonly string[] {
  const opening = endThinking(fold, envelope);
  fold.messageId ??= deriveId(fold.sessionId, envelope.event_id, "message");
  fold.hasText ||= content !== "";
  const id = fold.messageId;
  // Text that equals the end marker would end the stream, so it is split into two chunks.
  const pieces = content === DONE ? [DONE.slice(0, 3), DONE.slice(3)] : [content];
  return [...opening, ...pieces.map((piece) => frameText(fold, envelope, "chunk", { id, content: piece }))];
}

function finish(fold: LumineFold, envelope: StampedEnvelope, status: string | null): string[] {
  return [
    ...settle(fold, envelope),
    frameText(fold, envelope, "chunk", {
      content: DONE,
      status,
      id: deriveId(fold.sessionId, envelope.event_id, "done"),
    }),
  ];
}

function useTool(fold: LumineFold, call: TrackedCall, envelope: StampedEnvelope, status: string, index = 0): string {
  call.shown = true;
  return frameText(
    fold,
    envelope,
    "tool_use",
    { tool_use_id: call.id, toolName: call.name, args: call.arguments, status },
    index,
  );
}

export const LUMINE_TABLE: LedgerTable<LumineFold> = {
  run_start: carried(
    "session_id",
    (fold, { message = "" }, { envelope }) => {
      fold.language = detectLanguage(message);
      return open(fold, envelope);
    },
    { lostFields: ["run_id", "message", "agent", "contiguous", "source", "request_id", "context"] },
  ),
  run_end: carried(
    "chunk [DONE]",
    (fold, event, { envelope }) => {
      if (event.status === "completed") return [];
      const failed = event.status === "error" && !fold.errorShown;
      const banner = failed
        ? [
            ...settle(fold, envelope),
            frameText(fold, without(envelope), "error", describeRunFailure(fold.language, event, fold.toolFailure), 1),
          ]
        : [];
      return [...banner, ...finish(fold, envelope, event.status)];
    },
    {
      lostFields: ["summary", "first_event_id", "last_event_id", "frame_count", "reason", "code"],
      note: "the `status` of [DONE] is `error` or `cancelled`; sent with the reply if the run completed",
    },
  ),
  reply: carried(
    "chunk [DONE]",
    (fold, { reply }, { envelope }) => {
      const missing = findUnsentText(fold.answered, envelope.node_id, reply);
      const text = missing === "" ? [] : chunks(fold, without(envelope), missing);
      return [...text, ...finish(fold, envelope, fold.lastWasError ? "completed" : null)];
    },
    { note: "the reply is the text of all chunks; the part that was not streamed is sent first as one chunk" },
  ),
  message_chunk: carried(
    "chunk",
    (fold, { content, channel }, { envelope }) => {
      if (channel === "thought") return think(fold, envelope, content);
      addAnswerText(fold.answered, envelope.node_id, content);
      return chunks(fold, envelope, content);
    },
    {
      lostFields: ["id", "channel", "format", "is_complete"],
      note: "sent as `reasoning` on the channel `thought`; the text `[DONE]` is split into two chunks",
      roundTrip: ({ content, channel }) =>
        channel === "thought"
          ? { type: "reasoning_chunk", content }
          : { type: "message_chunk", content, id: DEFAULT_NODE_NAME },
    },
  ),
  reasoning_chunk: carried("reasoning", (fold, { content }, { envelope }) => think(fold, envelope, content), {
    lostFields: ["id", "stage"],
  }),
  reasoning_end: carried(
    "reasoning",
    (fold, _event, { envelope }) => {
      fold.thinking = false;
      return [...settle(fold, envelope), frameText(fold, envelope, "reasoning", { content: "", status: "done" })];
    },
    { lostFields: ["id", "duration_ms"], note: "with status `done`; added if the reasoning was not ended" },
  ),
  tool_call: carried(
    "tool_use",
    (fold, event, { envelope }) => {
      trackCall(fold.calls, event, envelope, "call").arguments = event.arguments;
      return [];
    },
    { lostFields: ["description", "index", "raw_arguments"], note: "sent when the tool starts or waits for approval" },
  ),
  tool_start: carried(
    "tool_use",
    (fold, event, { envelope }) => [
      ...settle(fold, envelope),
      useTool(fold, trackCall(fold.calls, event, envelope, "start"), envelope, "running"),
    ],
    { lostFields: ["executor", "expires_at"] },
  ),
  tool_approval: carried(
    "tool_use",
    (fold, event, { envelope }) => {
      const call = trackCall(fold.calls, event, envelope, "before");
      call.arguments = event.arguments;
      return [...settle(fold, envelope), useTool(fold, call, envelope, "awaiting_approval")];
    },
    { lostFields: ["expires_at", "preview"], note: "with status `awaiting_approval`" },
  ),
  tool_approval_result: converted(
    "tool_use",
    (fold, event, { envelope }) => {
      if (event.arguments !== undefined) trackCall(fold.calls, event, envelope, "before").arguments = event.arguments;
      return [];
    },
    {
      note: "visible in the next frame: `running`, with arguments edited by the user, or an error result",
      roundTrip: () => undefined,
    },
  ),
  tool_end: carried(
    "tool_result",
    (fold, event, { envelope }) => {
      const call = trackCall(fold.calls, event, envelope, "end");
      const opening = [
        ...settle(fold, envelope),
        ...(call.shown ? [] : [useTool(fold, call, without(envelope), "running", 1)]),
      ];
      const { is_error, result, output, error_code } = event;
      const own = is_error
        ? {
            status: "error",
            ...describeErrorFor(fold.language, {
              message: result,
              lead: TOOL_LEAD,
              ...dropUndefined({ code: error_code }),
            }),
            result: output ?? null,
            ...dropUndefined({ code: error_code }),
          }
        : { status: "completed", result: resultValue(event) };
      return [
        ...opening,
        frameText(fold, envelope, "tool_result", { tool_use_id: call.id, toolName: call.name, ...own }),
      ];
    },
    {
      lostFields: ["duration_ms", "actor"],
      note: "`result` holds the data if there is any, otherwise the text; the text of an error is in the language of the conversation, the original in `detail`",
      roundTrip: ({ duration_ms: _duration, ...event }) => {
        if (event.is_error) return event;
        const { error_code: _code, output: _output, result: _result, ...rest } = event;
        return { ...rest, ...splitResult(resultValue(event)) };
      },
    },
  ),
  todo_list: carried(
    "todo_list",
    (fold, { list_id, title = "", items }, { envelope }) => [
      ...settle(fold, envelope),
      frameText(fold, envelope, "todo_list", { list_id, title: titleOf(title, fold.language), items }),
    ],
    {
      note: "an untitled list gets a title in the language of the conversation",
      roundTrip: ({ title = "", ...event }) => ({ ...event, title: titleOf(title, "en") }),
    },
  ),
  todo_update: carried("todo_update", (fold, { list_id, item_id, completed, text }, { envelope }) => [
    ...settle(fold, envelope),
    frameText(fold, envelope, "todo_update", { list_id, item_id, completed: completed ?? null, text: text ?? null }),
  ]),
  image: carried("image", (fold, { url, media_type, alt }, { envelope }) => [
    ...settle(fold, envelope),
    frameText(fold, envelope, "image", { url, mediaType: media_type ?? null, alt: alt ?? null }),
  ]),
  data: converted(
    "chunk, image",
    (fold, event, { envelope }) => {
      const image = imageOf(event);
      if (image !== undefined) {
        const { url, media_type, alt } = image;
        return [
          ...settle(fold, envelope),
          frameText(fold, envelope, "image", { url, mediaType: media_type ?? null, alt: alt ?? null }),
        ];
      }
      const table = writeMarkdownTable(event);
      if (table === undefined) return [];
      return chunks(fold, envelope, fold.hasText ? `\n\n${table}` : table);
    },
    {
      note: "a table or chart is sent as a Markdown table in a `chunk`, an image with a `url` as `image`; 004 has no frame for other data",
      lostFields: ["metadata"],
      roundTrip: (event) => {
        const content = writeMarkdownTable(event);
        if (content === undefined) return imageOf(event);
        return { type: "message_chunk", content, id: DEFAULT_NODE_NAME };
      },
    },
  ),
  error: carried(
    "error",
    (fold, event, { envelope }) => {
      if (isToolFailure(event)) {
        fold.toolFailure = event;
        return [];
      }
      const { message, code } = event;
      if (isNextAttempt(event)) {
        const error = (isForkNotice(event) ? RUN_FORKED : RUN_AGAIN)[fold.language];
        const text = { error, code: event.code, attempt: event.attempt, detail: message };
        return [...settle(fold, envelope), frameText(fold, envelope, "error", text)];
      }
      fold.errorShown = true;
      const fields = describeErrorFor(fold.language, { message, ...dropUndefined({ code }) });
      return [...settle(fold, envelope), frameText(fold, envelope, "error", { ...fields, code: code ?? null })];
    },
    {
      lostFields: ["stage", "error_type", "recoverable", "call_id", "details"],
      note: "in the language of the conversation, with the original message in `detail`; the failure of a tool is only in its `tool_result`; after an error with an `attempt`, a new message starts",
      roundTrip: (event) => {
        if (isToolFailure(event)) return undefined;
        const { message, code } = event;
        const restart = isNextAttempt(event) ? { recoverable: true, attempt: event.attempt } : {};
        return { type: "error", message, ...dropUndefined({ code }), ...restart };
      },
    },
  ),
  tool_permission: omitted("004 has no frame for it"),
  feedback: omitted("004 has no frame for it"),
  llm_content: omitted("only the owner may read it"),
  foreign: converted(
    "original frame",
    (fold, { dialect, frame }, { envelope }) =>
      dialect === "lumine" && isJsonObject(frame) ? [...settle(fold, envelope), JSON.stringify(frame)] : [],
    {
      note: "only frames that came from this dialect",
      roundTrip: (event) => (event.dialect === "lumine" ? event : undefined),
    },
  ),
  custom: omitted("004 has no frame for application data"),
  tool_call_chunk: omitted("004 sends the complete arguments when the tool starts"),
  tool_output: omitted("004 has no frame for tool output"),
  tool_progress: omitted("004 has no frame for tool progress"),
  usage: omitted("004 does not carry token counts"),
  node_enter: omitted("004 has no node runs"),
  node_exit: omitted("004 has no node runs"),
  values: omitted("004 does not carry graph state"),
  updates: omitted("004 does not carry graph state"),
  checkpoint: omitted("004 does not carry graph state"),
  tot_expand: omitted("004 has no trees of thoughts; the text is sent as `reasoning`"),
  tot_evaluate: omitted("004 has no trees of thoughts"),
  tot_backtrack: omitted("004 has no trees of thoughts"),
  got_plan: omitted("004 has no graphs of thoughts; the text is sent as `reasoning`"),
  got_node_start: omitted("004 has no graphs of thoughts"),
  got_node_complete: omitted("004 has no graphs of thoughts"),
  got_node_failed: omitted("004 has no graphs of thoughts"),
  got_expand: omitted("004 has no graphs of thoughts"),
  retrieval_complete: omitted("004 has no frame for retrievals"),
  compression_applied: omitted("004 has no frame for compression"),
  llm_start: omitted("004 does not show model calls"),
  llm_end: omitted("004 does not show model calls"),
};

const UNTITLED_LIST: LocalizedText = { en: "To-do list", zh: "待办事项" };

function titleOf(title: string, language: Language): string {
  return title.trim() === "" ? UNTITLED_LIST[language] : title;
}

/** The run continues after the failure of a tool, which its `tool_result` shows. */
function isToolFailure({ stage, recoverable = true }: EventOf<"error">): boolean {
  return stage === "tool_execute" && recoverable;
}

/** Returns an image event for data that 004 can show: an image with a URL. */
function imageOf({ data_type, data }: EventOf<"data">): EventOf<"image"> | undefined {
  const { url, media_type, mediaType, alt } = data;
  if (data_type !== "image" || typeof url !== "string") return undefined;
  const media = media_type ?? mediaType;
  return {
    type: "image",
    url,
    ...(typeof media === "string" ? { media_type: media } : {}),
    ...(typeof alt === "string" ? { alt } : {}),
  };
}
