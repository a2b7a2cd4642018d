/**
 * Encodes records as frames of 004: all twelve base fields on every frame, and `[DONE]` last and exactly once. IDs are
 * derived from the session, the record and the frame's position in it.
 */
import type { EventOf, EventType, Json, JsonObject, StampedRecord } from "../../protocol/index.ts";
import { isNextAttempt, isThinkingChannel, type StampedEnvelope } from "../../protocol/record.ts";
import { isJudgement, ONE_THOUGHT, thoughtRow } from "../client-rows.ts";
import { type Encoder, type EncoderOptions, NO_FRAMES } from "../dialect.ts";
import { extraOf, mergeExtra } from "../extra.ts";
import { createFoldEncoder, createFoldState, type FoldHooks, type FoldState } from "../fold-encoder.ts";
import { dropUndefined } from "../../protocol/drop-undefined.ts";
import { carried, converted, type LedgerTable, listLost, omitted, ownFrames, sameRow } from "../ledger.ts";
import { GRAPH_EVENTS, SESSION_EVENTS, STATE_EVENTS } from "../event-groups.ts";
import { trackCall, type TrackedCall, TrackedCalls } from "../call-tracker.ts";
import { addAnswerText, findUnsentText, StreamedAnswer } from "../reply-text.ts";
import { wholeResultObject } from "../tool-values.ts";
import { addToThoughts, BLANK_LINE, isLiveThought, type ThoughtPiece, ThoughtQueue } from "../thought-queue.ts";
import { detectLanguage, type Language } from "../../protocol/detect-language.ts";
import { DONE } from "../client-decoder.ts";
import {
  describeEnd,
  describeError,
  describeErrorFor,
  isToolFailure,
  titleOf,
  TOOL_LEAD,
  writeCode,
} from "./error-texts.ts";
import type { LumineFrameType } from "./frames.ts";
import { writeMarkdownTable } from "./write-markdown-table.ts";

class LumineFold {
  readonly sessionId: string;
  /** Language of the user's message, for texts that the encoder writes. */
  language: Language = "en";
  /** Derived, unless the original frames had one. */
  conversationId: string;
  opened = false;
  /** ID of the current chunk message; any other kind of frame ends it. */
  messageId: string | undefined;
  thinking = false;
  errorShown = false;
  /** The latest failure of a tool, which has no `error` frame unless the run fails. */
  toolFailure: EventOf<"error"> | undefined;
  /** True once a chunk with text was sent. */
  hasText = false;
  /** True if the previous frame is an error, which before [DONE] means that the run did not complete. */
  lastWasError = false;
  readonly answered = new StreamedAnswer();
  readonly thoughts = new ThoughtQueue();
  readonly calls = new TrackedCalls();

  constructor({ envelope }: StampedRecord) {
    this.sessionId = envelope.session_id;
    this.conversationId = deriveId(envelope.session_id, "conversation");
  }

  /** The first session_id frame of a session has no conversation ID. */
  open(envelope: StampedEnvelope): readonly string[] {
    this.opened = true;
    const first = envelope.event_id <= 1;
    const ids = { id: this.sessionId, ...(first ? { conversation_id: null } : {}) };
    return [this.write(envelope, "session_id", ids)];
  }

  /** Writes a frame: the base fields with their nulls, then the fields of the type. */
  write(envelope: StampedEnvelope, type: LumineFrameType, fields: JsonObject, index = 0): string {
    const extra = extraOf(envelope, "lumine");
    this.lastWasError = type === "error";
    const frame: { [name: string]: Json } = {
      type,
      id: deriveId(this.sessionId, envelope.event_id, index),
      role: "assistant",
      session_id: this.sessionId,
      conversation_id: this.conversationId,
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
    if (typeof conversation_id === "string") this.conversationId = conversation_id;
    return JSON.stringify(mergeExtra(frame, more));
  }

  /** Sends a frame after the current message and the reasoning. */
  send(envelope: StampedEnvelope, type: LumineFrameType, fields: JsonObject): readonly string[] {
    return [...this.settle(envelope), this.write(envelope, type, fields)];
  }

  /** Ends the current message, and the reasoning. */
  settle(envelope: StampedEnvelope): readonly string[] {
    this.messageId = undefined;
    return this.endThinking(envelope);
  }

  private endThinking(envelope: StampedEnvelope): readonly string[] {
    if (!this.thinking) return NO_FRAMES;
    this.thinking = false;
    return [this.write(without(envelope), "reasoning", { content: "", status: "done" }, 9)];
  }

  writeThinking(pieces: readonly ThoughtPiece[], envelope: StampedEnvelope): readonly string[] {
    this.messageId = undefined;
    this.thinking = true;
    return pieces.map(({ content, isFirst, isLive }, index) => {
      const isOwn = isLive && index === 0;
      const data = { content: isFirst ? BLANK_LINE + content : content, status: "thinking" };
      return this.write(isOwn ? envelope : without(envelope), "reasoning", data, isOwn ? 0 : WAITED + index);
    });
  }

  sendText(envelope: StampedEnvelope, content: string): readonly string[] {
    const opening = this.endThinking(envelope);
    this.messageId ??= deriveId(this.sessionId, envelope.event_id, "message");
    this.hasText ||= content !== "";
    const id = this.messageId;
    // Text that equals the end marker would end the stream, so it is split into two chunks.
    const pieces = content === DONE ? [DONE.slice(0, 3), DONE.slice(3)] : [content];
    return [...opening, ...pieces.map((piece) => this.write(envelope, "chunk", { id, content: piece }))];
  }

  finish(envelope: StampedEnvelope): readonly string[] {
    return this.send(envelope, "chunk", { content: DONE, id: deriveId(this.sessionId, envelope.event_id, "done") });
  }

  useTool(call: TrackedCall, envelope: StampedEnvelope, status: string, index = 0, code?: Json): string {
    call.shown = status === "running";
    call.wasAsked = true;
    const { id: tool_use_id, name: toolName, arguments: args } = call;
    return this.write(envelope, "tool_use", { tool_use_id, toolName, args, status, ...dropUndefined({ code }) }, index);
  }

  showImage({ url, media_type, alt }: EventOf<"image">, envelope: StampedEnvelope): readonly string[] {
    return this.send(envelope, "image", { url, mediaType: media_type ?? null, alt: alt ?? null });
  }
}

/** Removes the extra fields of the original frame, for frames that the encoder adds. */
function without({ session_id, event_id }: StampedEnvelope): StampedEnvelope {
  return { session_id, event_id };
}

/** Index of the first frame whose thinking has waited: what comes before it belongs to the record itself. */
const WAITED = 100;

/** Maximum number of records outside a request that wait for the next one; beyond it the oldest is dropped. */
const MAX_HELD = 1000;

/** State of an encoder that belongs to no single request. */
interface LumineShared {
  /** Records outside a request that wait for the next one. */
  held: StampedRecord[];
}

export function createLumineEncoder({ follow = false }: EncoderOptions = {}, saved?: unknown): Encoder {
  const state = (saved ?? createFoldState({ held: [] })) as FoldState<LumineFold, LumineShared>;
  const { shared } = state;
  const encodeRunless = (record: StampedRecord) => {
    const row = LUMINE_TABLE[record.event.type as "todo_update"];
    return row.encode?.(new LumineFold(record), record.event as EventOf<"todo_update">, record) ?? NO_FRAMES;
  };
  const release = (session: string): readonly string[] => {
    if (shared.held.length === 0) return NO_FRAMES;
    const waiting = shared.held.filter((record) => record.envelope.session_id === session);
    shared.held = shared.held.filter((record) => record.envelope.session_id !== session);
    return waiting.flatMap(encodeRunless);
  };
  const hooks: FoldHooks<LumineFold> = {
    table: LUMINE_TABLE,
    methods: LumineFold.prototype,
    held: () => shared.held.length,
    create: (record) => new LumineFold(record),
    before(fold, record) {
      const { envelope, event } = record;
      const thinking = addToThoughts(fold.thoughts, record);
      const isOpen = fold.opened || event.type === "run_start";
      const opening = isOpen ? NO_FRAMES : [...fold.open(envelope), ...release(envelope.session_id)];
      return thinking.length === 0 ? opening : [...opening, ...fold.writeThinking(thinking, envelope)];
    },
    after: (_fold, { envelope, event }) => (event.type === "run_start" ? release(envelope.session_id) : NO_FRAMES),
    encodeRunless(record, isLive) {
      if (follow || isLive) return encodeRunless(record);
      if (LUMINE_TABLE[record.event.type as EventType].support === "omitted") return NO_FRAMES;
      shared.held.push(record);
      if (shared.held.length > MAX_HELD) shared.held.shift();
      return NO_FRAMES;
    },
  };
  return createFoldEncoder(hooks, state);
}

export const LUMINE_TABLE: LedgerTable<LumineFold> = {
  run_start: carried(
    "session_id",
    (fold, { message = "" }, { envelope }) => {
      fold.language = detectLanguage(message);
      return fold.open(envelope);
    },
    { lostFields: listLost("run_start") },
  ),
  run_end: carried(
    "chunk [DONE]",
    (fold, event, { envelope }) => {
      if (event.status === "completed") return [];
      const opening = fold.settle(envelope);
      // The frame before [DONE] says that the run did not complete, and why.
      const isSaid = event.status === "error" && fold.errorShown && fold.lastWasError && opening.length === 0;
      const about = describeEnd(fold.language, event, fold.toolFailure);
      const banner = isSaid ? [] : [fold.write(without(envelope), "error", about, 1)];
      return [...opening, ...banner, ...fold.finish(envelope)];
    },
    {
      lostFields: listLost("run_end", "status"),
      note: "if the run did not complete, an `error` with a code comes directly before [DONE]",
    },
  ),
  reply: carried(
    "chunk [DONE]",
    (fold, { reply }, { envelope }) => {
      const missing = findUnsentText(fold.answered, envelope.node_id, reply);
      const text = missing === "" && !fold.lastWasError ? [] : fold.sendText(without(envelope), missing);
      return [...text, ...fold.finish(envelope)];
    },
    {
      note: "the reply is the text of all chunks; the part that was not streamed is sent first as one chunk, also if it is empty and an `error` came last",
    },
  ),
  message_chunk: carried(
    "chunk",
    (fold, { content, channel }, { envelope }) => {
      if (isThinkingChannel(channel)) return NO_FRAMES;
      if (channel !== "break") addAnswerText(fold.answered, envelope.node_id, content);
      return fold.sendText(envelope, content);
    },
    {
      lostFields: listLost("message_chunk", "content"),
      note: `sent as \`reasoning\` on the channel \`thought\`, and not on \`judgement\`; ${ONE_THOUGHT}; the text \`[DONE]\` is split into two chunks`,
      isLost: isJudgement,
    },
  ),
  reasoning_chunk: thoughtRow("reasoning", listLost("reasoning_chunk", "content")),
  reasoning_end: carried(
    "reasoning",
    (fold, _event, { envelope }) => {
      if (!fold.thinking || !isLiveThought(fold.thoughts, envelope.node_id)) return [];
      fold.thinking = false;
      return fold.send(envelope, "reasoning", { content: "", status: "done" });
    },
    { lostFields: ["id", "duration_ms"], note: "with status `done`; added if the reasoning was not ended" },
  ),
  tool_call: carried(
    "tool_use",
    (fold, event, { envelope }) => {
      trackCall(fold.calls, event, envelope, "call").arguments = event.arguments;
      return [];
    },
    {
      lostFields: listLost("tool_call", "call_id", "name", "arguments"),
      note: "sent when it starts or needs approval",
    },
  ),
  tool_start: carried(
    "tool_use",
    (fold, event, { envelope }) => [
      ...fold.settle(envelope),
      fold.useTool(trackCall(fold.calls, event, envelope, "start"), envelope, "running"),
    ],
    { lostFields: ["executor", "expires_at"] },
  ),
  tool_approval: carried(
    "tool_use",
    (fold, event, { envelope }) => {
      const call = trackCall(fold.calls, event, envelope, "before");
      call.arguments = event.arguments;
      return [...fold.settle(envelope), fold.useTool(call, envelope, "awaiting_approval")];
    },
    { lostFields: ["expires_at", "preview", "server"], note: "with status `awaiting_approval`" },
  ),
  tool_approval_result: converted(
    "tool_use",
    (fold, event, { envelope }) => {
      if (event.arguments !== undefined) trackCall(fold.calls, event, envelope, "before").arguments = event.arguments;
      return [];
    },
    {
      note: "visible in the next frame: `running`, with arguments edited by the user, or an error result",
    },
  ),
  tool_end: carried(
    "tool_result",
    (fold, event, { envelope }) => {
      const call = trackCall(fold.calls, event, envelope, "end");
      const { is_error, result, output, error_code } = event;
      // Our decoder does not read it as the start of the tool.
      const refusal = call.wasAsked === true ? writeCode(error_code) : undefined;
      const opening = [
        ...fold.settle(envelope),
        ...(call.shown ? [] : [fold.useTool(call, without(envelope), "running", 1, refusal)]),
      ];
      const about = { message: result, lead: TOOL_LEAD, ...dropUndefined({ code: error_code }) };
      const own = is_error
        ? {
            status: "error",
            ...describeErrorFor(fold.language, about),
            result: output ?? null,
            ...dropUndefined({ code: writeCode(error_code) }),
          }
        : { status: "completed", result: wholeResultObject(event) };
      const { id: tool_use_id, name: toolName } = call;
      return [...opening, fold.write(envelope, "tool_result", { tool_use_id, toolName, ...own })];
    },
    {
      lostFields: ["duration_ms", "actor", "summary"],
      note: "`result` holds the data if there is any, otherwise the text; the text of an error is in the language of the conversation, the original in `detail`",
    },
  ),
  todo_list: carried(
    "todo_list",
    (fold, { list_id, title = "", items }, { envelope }) =>
      fold.send(envelope, "todo_list", { list_id, title: titleOf(title, fold.language), items }),
    { note: "an untitled list gets a title in the language of the conversation" },
  ),
  todo_update: carried("todo_update", (fold, { list_id, item_id, completed = null, text = null }, { envelope }) =>
    fold.send(envelope, "todo_update", { list_id, item_id, completed, text }),
  ),
  image: carried("image", (fold, event, { envelope }) => fold.showImage(event, envelope)),
  data: converted(
    "chunk, image",
    (fold, event, { envelope }) => {
      const image = imageOf(event);
      if (image !== undefined) return fold.showImage(image, envelope);
      const table = writeMarkdownTable(event);
      if (table === undefined) return [];
      return fold.sendText(envelope, fold.hasText ? `\n\n${table}` : table);
    },
    {
      note: "a table or chart is sent as a Markdown table in a `chunk`, an image with a `url` as `image`; 004 has no frame for other data",
      lostFields: ["metadata"],
      isLost: (event) => imageOf(event) === undefined && writeMarkdownTable(event) === undefined,
    },
  ),
  error: carried(
    "error",
    (fold, event, { envelope }) => {
      if (isToolFailure(event)) {
        fold.toolFailure = event;
        return [];
      }
      if (!isNextAttempt(event)) fold.errorShown = true;
      return fold.send(envelope, "error", describeError(fold.language, event));
    },
    {
      lostFields: listLost("error", "message", "code", "attempt"),
      note: "in the language of the conversation, with the original message in `detail`; the failure of a tool is only in its `tool_result`; after an error with an `attempt`, a new message starts",
      isLost: isToolFailure,
    },
  ),
  ...sameRow(SESSION_EVENTS, omitted("004 has no frame for it")),
  llm_content: omitted("only the owner may read it"),
  foreign: ownFrames("lumine", (fold, frame, { envelope }) => [...fold.settle(envelope), JSON.stringify(frame)]),
  custom: omitted("004 has no frame for application data"),
  tool_call_chunk: omitted("004 sends the complete arguments when the tool starts"),
  tool_output: omitted("004 has no frame for tool output"),
  tool_progress: omitted("004 has no frame for tool progress"),
  usage: omitted("004 does not carry token counts"),
  ...sameRow(["node_enter", "node_exit"], omitted("004 has no node runs")),
  ...sameRow(STATE_EVENTS, omitted("004 does not carry graph state")),
  tot_expand: omitted("004 has no trees of thoughts; the text is sent as `reasoning`"),
  ...sameRow(["tot_evaluate", "tot_backtrack"], omitted("004 has no trees of thoughts")),
  ...sameRow(GRAPH_EVENTS, omitted("004 has no graphs of thoughts")),
  got_plan: omitted("004 has no graphs of thoughts; the text is sent as `reasoning`"),
  retrieval_complete: omitted("004 has no frame for retrievals"),
  compression_applied: omitted("004 has no frame for compression"),
  ...sameRow(["llm_start", "llm_end"], omitted("004 does not show model calls")),
};

/** Returns an image event for data that 004 can show: an image with a URL. */
export function imageOf({ data_type, data }: EventOf<"data">): EventOf<"image"> | undefined {
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

/**
 * Derives an ID from its parts: the same parts give the same ID in every process and every replay. IDs have the format
 * of a UUID version 8 and are not secret.
 */
function deriveId(...parts: readonly (string | number)[]): string {
  const text = parts.join("\u0000");
  let hex = "";
  for (const seed of [0x811c9dc5, 0x9e3779b9, 0x85ebca6b, 0xc2b2ae35])
    hex += hash(text, seed).toString(16).padStart(8, "0");
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-8${hex.slice(13, 16)}-a${hex.slice(17, 20)}-${hex.slice(20, 32)}`;
}

/** 32-bit FNV-1a over UTF-16 code units, with a final mix so that similar texts get different hashes. */
function hash(text: string, seed: number): number {
  let h = seed;
  for (let i = 0; i < text.length; i++) h = Math.imul(h ^ text.charCodeAt(i), 0x01000193);
  h = Math.imul(h ^ (h >>> 16), 0x7feb352d);
  h = Math.imul(h ^ (h >>> 15), 0x846ca68b);
  return (h ^ (h >>> 16)) >>> 0;
}
