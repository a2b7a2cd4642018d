/**
 * Encodes records as UI message chunks of the AI SDK. Only types of its schema are sent, because clients stop at any
 * other: what has no chunk is a data part. Every run ends with `finish`.
 */
import type { EventOf, EventType, JsonObject, LoomEvent, StampedRecord } from "../../protocol/index.ts";
import { findFault } from "../../protocol/check-form.ts";
import { isJsonObject } from "../../protocol/json.ts";
import { trackArguments, trackCall, type TrackedCall } from "../call-tracker.ts";
import { createTextEncoders, REASONING_END_ROW, REASONING_ROW, TEXT_ROW } from "../client-rows.ts";
import { type Encoder, type EncoderOptions, NO_FRAMES } from "../dialect.ts";
import { createFoldEncoder } from "../fold-encoder.ts";
import {
  carried,
  converted,
  isNotReadBack,
  type LedgerRow,
  type LedgerTable,
  listLostRunFields,
  omitted,
  sameRow,
} from "../ledger.ts";
import { SESSION_EVENTS, STATE_EVENTS } from "../event-groups.ts";
import { resultValue } from "../tool-values.ts";
import { AI_SDK, ANY_IMAGE, REPEATED_SOURCE } from "./chunk-reader.ts";
import { namePart } from "./data-parts.ts";
import { findAiSdkFrameForm } from "./frames.generated.ts";
import type { AiSdkFrameType } from "./frames.ts";
import {
  abort,
  addToStep,
  appendText,
  changeAsked,
  changeList,
  DEFAULT_VERSION,
  endPart,
  endParts,
  endStep,
  enterNode,
  exitNode,
  isOtherNode,
  SentMessage,
  noteStreaming,
  showCall,
  showDecision,
  showWaiting,
  startStep,
  supersede,
  writeChunk,
  writeFinish,
} from "./sent-message.ts";

const FAILED = "The run failed";
const FINISH_REASONS: { readonly [reason: string]: string } = {
  stop: "stop",
  length: "length",
  content_filter: "content-filter",
};
/** Chunks without an event that can be sent again as they came, and the first version that reads them. */
const KEPT_CHUNKS: ReadonlyMap<unknown, number> = new Map([
  ["file", 5],
  ["message-metadata", 5],
  ["custom", 7],
  ["reasoning-file", 7],
]);

/** Events after which the run may have nothing left to do but wait for the user. */
const WAIT_EVENTS: ReadonlySet<string> = new Set([
  "tool_approval",
  "tool_start",
  "tool_end",
  "node_exit",
  "reasoning_end",
]);

export function createAiSdkEncoder({ version = DEFAULT_VERSION }: EncoderOptions = {}, saved?: unknown): Encoder {
  return createFoldEncoder<SentMessage>(
    {
      table: AI_SDK_TABLE,
      create: (record) => new SentMessage(record, version),
      before(fold) {
        if (fold.isOpen) return NO_FRAMES;
        fold.isOpen = true;
        return [writeChunk("start", { messageId: fold.runId })];
      },
      after: (fold, { event }) => (WAIT_EVENTS.has(event.type) ? showWaiting(fold) : NO_FRAMES),
    },
    saved,
  );
}

const TEXTS = createTextEncoders<SentMessage, "text">("text", appendText, endPart);

/** A row for an event that is sent as a data part with all its fields. */
function dataPart<T extends EventType>(
  type: T,
  options: {
    readonly isKept?: boolean;
    readonly note?: string;
    readonly also?: (event: EventOf<T>, record: StampedRecord) => readonly string[];
  } = {},
): LedgerRow<SentMessage, T> {
  const { isKept = true, note, also } = options;
  return carried(
    namePart(type),
    (fold, event, record) => {
      const { node_id, event_id } = record.envelope;
      const frames = [
        ...endParts(fold, node_id),
        writeData(event, `event-${event_id}`),
        ...(also?.(event, record) ?? NO_FRAMES),
      ];
      return addToStep(fold, frames, isKept);
    },
    { note },
  );
}

function writeData(event: LoomEvent, id: string): string {
  const { type, ...data } = event;
  return writeChunk(namePart(type) as AiSdkFrameType, { id, data: data as unknown as JsonObject });
}

export const AI_SDK_TABLE: LedgerTable<SentMessage> = {
  run_start: carried("start", () => NO_FRAMES, {
    lostFields: listLostRunFields("run_id"),
    note: "the ID of the message is the ID of the run",
  }),
  llm_start: converted(
    "start-step",
    (fold, { purpose = "answer" }, { envelope }) => {
      if (purpose !== "answer" || fold.models++ > 0) return NO_FRAMES;
      return startStep(fold, envelope.node_id);
    },
    {
      note: "a step is a model call and its tools; calls that run in parallel share one, and summaries have none. It is not read back",
      isLost: isNotReadBack,
    },
  ),
  llm_end: omitted("a step ends when the next one starts; the reason of the last one is in `finish`", (fold, event) => {
    const { purpose = "answer", finish_reason = "" } = event;
    if (purpose !== "answer") return;
    fold.models = Math.max(0, fold.models - 1);
    fold.finishReason = FINISH_REASONS[finish_reason] ?? fold.finishReason;
  }),
  node_enter: converted(
    "data-loom-node",
    (fold, event, { envelope: { node_id = event.id } }) => {
      const taken = event.supersedes === undefined ? NO_FRAMES : supersede(fold, event.supersedes);
      return [...taken, enterNode(fold, node_id, event)];
    },
    {
      note: "if the node run repeats an interrupted one, `data-loom-superseded` says that the text of that one no longer counts; with `version: 7`, `reset-step` takes it back if it can. It is not read back",
      isLost: isNotReadBack,
    },
  ),
  node_exit: converted(
    "data-loom-node",
    (fold, event, { envelope: { node_id } }) => [
      ...endParts(fold, node_id),
      exitNode(fold, node_id ?? event.id, event),
    ],
    { note: "replaces the part of its `node_enter`. It is not read back", isLost: isNotReadBack },
  ),
  message_chunk: carried("text-delta", TEXTS.text, TEXT_ROW),
  reasoning_chunk: carried("reasoning-delta", TEXTS.reasoning, REASONING_ROW),
  reasoning_end: carried("reasoning-end", TEXTS.reasoningEnd, REASONING_END_ROW),
  tool_call_chunk: carried("tool-input-delta", encodeArguments, {
    lostFields: ["index"],
    note: "after a `tool-input-start`; pieces without a call ID are omitted, as the call follows with all arguments",
  }),
  tool_call: carried(
    "tool-input-available",
    (fold, event, { envelope }) => {
      const call = trackCall(fold.calls, event, envelope, "call");
      call.description = event.description;
      if (isOtherNode(fold, envelope.node_id)) keepStep(fold);
      return [...endParts(fold, envelope.node_id), ...showCall(fold, call, event.raw_arguments ?? event.arguments)];
    },
    {
      lostFields: ["index", "server"],
      note: "arguments that are not a JSON object are sent as the text of the model",
    },
  ),
  tool_start: omitted(
    "a call with its arguments counts as started. If the client carries it out, `data-loom-waiting` follows as soon as nothing else is open",
    (fold, { executor, call_id }) => {
      keepStep(fold);
      if (executor === "client" && call_id !== undefined) changeAsked(fold, call_id, true);
    },
  ),
  tool_output: carried(
    "tool-output-available",
    (fold, event, { envelope }) => {
      const call = trackCall(fold.calls, event, envelope, "running");
      const output = writeChunk("tool-output-available", {
        toolCallId: call.id,
        output: event.content,
        preliminary: fold.version < 6 ? undefined : true,
      });
      return [...showCall(fold, call, {}), ...addToStep(fold, [output], true)];
    },
    { note: "preliminary; clients show the last piece" },
  ),
  tool_progress: carried(
    "data-loom-tool-progress",
    (fold, event, { envelope }) => {
      const call = trackCall(fold.calls, event, envelope, "running");
      const chunk = writeData({ ...event, call_id: call.id, name: call.name }, `progress-${call.id}`);
      return [...showCall(fold, call, {}), ...addToStep(fold, [chunk], true)];
    },
    { note: "replaces the progress before" },
  ),
  tool_end: carried("tool-output-available", encodeToolEnd, {
    lostFields: ["error_code", "duration_ms", "actor", "summary"],
    note: "`tool-output-error` if it failed, without its data; `tool-output-denied` if it was rejected, without its text",
  }),
  tool_approval: carried(
    "tool-approval-request",
    (fold, event, { envelope }) => {
      const call = trackCall(fold.calls, event, envelope, "before");
      const shown = [...endParts(fold, envelope.node_id), ...showCall(fold, call, event.arguments)];
      changeAsked(fold, call.id, true);
      call.arguments = event.arguments;
      const request = writeChunk("tool-approval-request", { approvalId: call.id, toolCallId: call.id });
      return [...shown, ...addToStep(fold, fold.version < 6 ? NO_FRAMES : [request], true)];
    },
    {
      lostFields: ["expires_at", "digest", "preview", "server"],
      note: "the ID of the approval is the ID of the call, and the arguments are those of the call. `data-loom-waiting` follows as soon as nothing else is open. Version 5 has no approvals",
    },
  ),
  tool_approval_result: converted(
    "tool-input-available",
    (fold, event, { envelope }) => {
      const call = trackCall(fold.calls, event, envelope, "before");
      return changeAsked(fold, call.id, false) ? showDecision(fold, call, event) : NO_FRAMES;
    },
    {
      lostFields: ["reason", "actor", "code"],
      note: "an approved call is sent again, with the arguments that the user allowed; a rejected one is `tool-output-denied`. With `version: 7`, `tool-approval-response`",
    },
  ),
  todo_list: carried("data-loom-todo-list", encodeList),
  todo_update: converted("data-loom-todo-list", encodeList, {
    note: "the whole list with the change; `data-loom-todo-update` if the run does not have the list",
  }),
  image: carried(
    "file",
    (fold, { url, media_type = ANY_IMAGE }, { envelope }) => [
      ...endParts(fold, envelope.node_id),
      ...addToStep(fold, [writeChunk("file", { url, mediaType: media_type })], true),
    ],
    {
      lostFields: ["alt"],
    },
  ),
  retrieval_complete: dataPart("retrieval_complete", {
    also: encodeSources,
    note: "and a `source-url` for each source with a web address",
  }),
  error: dataPart("error", {
    isKept: false,
    note: "clients stop at the chunk `error`, so it is sent only if the run fails",
  }),
  custom: converted(
    "data-loom-custom",
    (fold, event, { envelope: { node_id, event_id } }) => {
      const chunk = isDataChunk(event.value) ? JSON.stringify(event.value) : writeData(event, `event-${event_id}`);
      return [...endParts(fold, node_id), ...addToStep(fold, [chunk], true)];
    },
    { note: "a data part of another program is sent unchanged" },
  ),
  ...sameRow(SESSION_EVENTS, omitted("it belongs to no message")),
  llm_content: omitted("only the owner may read it"),
  foreign: converted(
    "data-loom-foreign",
    (fold, event, { envelope: { node_id, event_id } }) => {
      const { dialect, frame } = event;
      const chunk =
        dialect === AI_SDK && isKeptChunk(frame, fold.version)
          ? JSON.stringify(frame)
          : writeData(event, `event-${event_id}`);
      return [...endParts(fold, node_id), ...addToStep(fold, [chunk], true)];
    },
    { note: "chunks that this package has no event for are sent unchanged, if clients know them" },
  ),
  usage: dataPart("usage", { isKept: false }),
  data: dataPart("data"),
  compression_applied: dataPart("compression_applied", { isKept: false }),
  tot_expand: dataPart("tot_expand"),
  tot_evaluate: dataPart("tot_evaluate"),
  tot_backtrack: dataPart("tot_backtrack"),
  got_plan: dataPart("got_plan"),
  got_node_start: dataPart("got_node_start"),
  got_node_complete: dataPart("got_node_complete"),
  got_node_failed: dataPart("got_node_failed"),
  got_expand: dataPart("got_expand"),
  ...sameRow(STATE_EVENTS, omitted("clients of the AI SDK do not show graph state")),
  run_end: carried(
    "finish",
    (fold, { status, reason }) => {
      if (status === "completed") return NO_FRAMES;
      if (status === "cancelled") return abort(fold, reason);
      return [
        ...endStep(fold),
        writeChunk("error", { errorText: reason ?? FAILED }),
        writeFinish("error", fold.version),
      ];
    },
    {
      lostFields: ["summary", "first_event_id", "last_event_id", "frame_count", "has_reply", "code"],
      note: "after `error`, or `data-loom-cancelled` and `abort`, if the run did not complete",
    },
  ),
  reply: carried(
    "finish",
    (fold, event, record) => [
      ...TEXTS.rest(fold, event, record),
      ...endStep(fold),
      writeFinish(fold.finishReason ?? "stop", fold.version),
    ],
    { note: "text that was not streamed is sent before it; read back as all text of the message" },
  ),
};

function encodeArguments(
  fold: SentMessage,
  event: EventOf<"tool_call_chunk">,
  { envelope }: StampedRecord,
): readonly string[] {
  const call = trackArguments(fold.calls, event, envelope);
  if (call === undefined) return NO_FRAMES;
  const { arguments_delta } = event;
  const toolCallId = call.id;
  const piece = noteStreaming(fold, toolCallId, envelope.node_id);
  if (piece === "none") return NO_FRAMES;
  const frames = [...endParts(fold, envelope.node_id)];
  if (piece === "first") frames.push(writeChunk("tool-input-start", { toolCallId, toolName: call.name }));
  if (arguments_delta !== "")
    frames.push(writeChunk("tool-input-delta", { toolCallId, inputTextDelta: arguments_delta }));
  return frames.length === 0 ? NO_FRAMES : addToStep(fold, frames, false);
}

/** A tool that ran has effects, so its call stays even if the step is repeated. */
function keepStep(fold: SentMessage): void {
  if (fold.step !== undefined) fold.step.isKept = true;
}

function encodeToolEnd(fold: SentMessage, event: EventOf<"tool_end">, { envelope }: StampedRecord): readonly string[] {
  const call = trackCall(fold.calls, event, envelope, "end");
  const frames = [...endParts(fold, envelope.node_id), ...showCall(fold, call, {})];
  changeAsked(fold, call.id, false);
  // A call of an interrupted model call that never started is made again.
  return [...frames, ...addToStep(fold, [writeResult(fold, call, event)], event.error_code !== "interrupted")];
}

function writeResult({ version }: SentMessage, { id: toolCallId }: TrackedCall, event: EventOf<"tool_end">): string {
  const { is_error, result, error_code } = event;
  if (!is_error) return writeChunk("tool-output-available", { toolCallId, output: resultValue(event) });
  if (error_code === "tool_rejected" && version >= 6) return writeChunk("tool-output-denied", { toolCallId });
  return writeChunk("tool-output-error", { toolCallId, errorText: result });
}

function encodeList(
  fold: SentMessage,
  event: EventOf<"todo_list"> | EventOf<"todo_update">,
  { envelope: { node_id, event_id } }: StampedRecord,
): readonly string[] {
  const list = changeList(fold.lists, event);
  const chunk = list === undefined ? writeData(event, `event-${event_id}`) : writeData(list, list.list_id);
  return [...endParts(fold, node_id), ...addToStep(fold, [chunk], true)];
}

function encodeSources(
  { sources = [] }: EventOf<"retrieval_complete">,
  { envelope: { event_id } }: StampedRecord,
): readonly string[] {
  return sources.flatMap(({ title, uri = "" }, index) => {
    if (!/^https?:/i.test(uri)) return [];
    return [writeChunk("source-url", { sourceId: `${REPEATED_SOURCE}${event_id}-${index}`, url: uri, title })];
  });
}

/** True for a data part of another program, as its decoder read it. */
function isDataChunk(value: unknown): boolean {
  if (!isJsonObject(value) || !("data" in value)) return false;
  const { type, id = "", transient = false, data: _data, ...rest } = value;
  if (typeof type !== "string" || !type.startsWith("data-") || type.startsWith(namePart(""))) return false;
  return typeof id === "string" && typeof transient === "boolean" && Object.keys(rest).length === 0;
}

/** Older clients stop at fields that they do not know. */
function isKeptChunk(frame: unknown, version: number): boolean {
  if (!isJsonObject(frame) || version < (KEPT_CHUNKS.get(frame["type"]) ?? Number.POSITIVE_INFINITY)) return false;
  const { type, providerMetadata = {}, ...fields } = frame;
  const form = findAiSdkFrameForm(type);
  if (form === undefined || findFault(form.fields, frame) !== undefined) return false;
  if (!isJsonObject(providerMetadata) || !Object.values(providerMetadata).every(isJsonObject)) return false;
  return Object.keys(fields).every((name) => form.fields.has(name));
}
