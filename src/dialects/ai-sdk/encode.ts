/**
 * Encodes records as UI message chunks of the AI SDK. Only types of its schema are sent, because clients stop at any
 * other: what has no chunk is a data part. Every run ends with `finish`.
 */
import type { EventOf, EventType, JsonObject, LoomEvent, StampedRecord } from "../../protocol/index.ts";
import { findFault } from "../../protocol/check-form.ts";
import { isJsonObject } from "../../protocol/json.ts";
import type { StampedEnvelope } from "../../protocol/record.ts";
import { trackCall, type TrackedCall } from "../call-tracker.ts";
import { argumentsRow, reasoningEndRow, reasoningRow, sendRest, textRow } from "../client-rows.ts";
import { type Encoder, type EncoderOptions, NO_FRAMES } from "../dialect.ts";
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
import { SESSION_EVENTS, STATE_EVENTS } from "../event-groups.ts";
import { resultValue } from "../tool-values.ts";
import { AI_SDK, ANY_IMAGE, REPEATED_SOURCE } from "./chunk-reader.ts";
import { namePart } from "./data-parts.ts";
import { findAiSdkFrameForm } from "./frames.generated.ts";
import type { AiSdkFrameType } from "./frames.ts";
import { DEFAULT_VERSION, type PartStay, SentMessage, writeChunk, writeFinish } from "./sent-message.ts";

const FAILED = "The run failed";
const FINISH_REASONS: { readonly [reason: string]: string } = {
  stop: "stop",
  length: "length",
  content_filter: "content-filter",
};
/** Chunks without an event that can be sent again as they came, and the first version that reads them. */
const RESENT_CHUNKS: ReadonlyMap<unknown, number> = new Map([
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
      methods: SentMessage.prototype,
      create: (record) => new SentMessage(record, version),
      before(fold) {
        if (fold.isOpen) return NO_FRAMES;
        fold.isOpen = true;
        return [writeChunk("start", { messageId: fold.runId })];
      },
      after: (fold, { event }) => (WAIT_EVENTS.has(event.type) ? fold.showWaiting() : NO_FRAMES),
    },
    saved,
  );
}

/** A row for an event that is sent as a data part with all its fields. */
function dataPart<T extends EventType>(type: T, stay?: PartStay, note?: string): LedgerRow<SentMessage, T> {
  return carried(
    namePart(type),
    (fold, event, { envelope }) => fold.addPart(envelope, [writeEvent(event, envelope)], stay),
    { note },
  );
}

function writeEvent(event: LoomEvent, { event_id }: StampedEnvelope): string {
  return writeData(event, `event-${event_id}`);
}

function writeData(event: LoomEvent, id: string): string {
  const { type, ...data } = event;
  return writeChunk(namePart(type) as AiSdkFrameType, { id, data: data as unknown as JsonObject });
}

export const AI_SDK_TABLE: LedgerTable<SentMessage> = {
  // The chunk `start` precedes the first frame of every run, whatever event that is.
  run_start: carried("start", () => NO_FRAMES, {
    lostFields: listLost("run_start", "run_id"),
    note: "the ID of the message is the ID of the run",
  }),
  llm_start: converted(
    "start-step",
    (fold, { purpose = "answer" }, { envelope }) =>
      purpose === "answer" ? fold.startModelCall(envelope.node_id) : NO_FRAMES,
    notReadBack("a step is a model call and its tools; calls that run in parallel share one, and summaries have none"),
  ),
  llm_end: omitted("a step ends when the next one starts; the reason of the last one is in `finish`", (fold, event) => {
    const { purpose = "answer", finish_reason = "" } = event;
    if (purpose === "answer") fold.endModelCall(FINISH_REASONS[finish_reason]);
  }),
  node_enter: converted(
    "data-loom-node",
    (fold, event, { envelope: { node_id = event.id } }) => {
      const taken = event.supersedes === undefined ? NO_FRAMES : fold.supersede(event.supersedes);
      return [...taken, fold.enterNode(node_id, event)];
    },
    notReadBack(
      "if the node run repeats an interrupted one, `data-loom-superseded` says that the text of that one no longer counts; with `version: 7`, `reset-step` takes it back if it can",
    ),
  ),
  node_exit: converted(
    "data-loom-node",
    (fold, event, { envelope: { node_id } }) => [...fold.endTexts(node_id), fold.exitNode(node_id ?? event.id, event)],
    notReadBack("replaces the part of its `node_enter`"),
  ),
  message_chunk: textRow("text-delta"),
  reasoning_chunk: reasoningRow("reasoning-delta"),
  reasoning_end: reasoningEndRow("reasoning-end"),
  tool_call_chunk: argumentsRow("tool-input-delta", "after a `tool-input-start`; "),
  tool_call: carried(
    "tool-input-available",
    (fold, event, { envelope }) => {
      const call = trackCall(fold.calls, event, envelope, "call");
      call.description = event.description;
      if (fold.isOtherNode(envelope.node_id)) fold.keepStep();
      return [...fold.endTexts(envelope.node_id), ...fold.showCall(call, event.raw_arguments ?? event.arguments)];
    },
    {
      lostFields: ["index", "server"],
      note: "arguments that are not a JSON object are sent as the text of the model",
    },
  ),
  tool_start: omitted(
    "a call with its arguments counts as started. If the client carries it out, `data-loom-waiting` follows as soon as nothing else is open",
    (fold, { executor, call_id }) => {
      fold.keepStep();
      if (executor === "client" && call_id !== undefined) fold.changeAsked(call_id, true);
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
      return [...fold.ensureShown(call), ...fold.addToStep([output], "lasting")];
    },
    { note: "preliminary; clients show the last piece" },
  ),
  tool_progress: carried(
    "data-loom-tool-progress",
    (fold, event, { envelope }) => {
      const call = trackCall(fold.calls, event, envelope, "running");
      const chunk = writeData({ ...event, call_id: call.id, name: call.name }, `progress-${call.id}`);
      return [...fold.ensureShown(call), ...fold.addToStep([chunk], "lasting")];
    },
    { note: "replaces the progress before" },
  ),
  tool_end: carried(
    "tool-output-available",
    (fold, event, { envelope }) => {
      const call = trackCall(fold.calls, event, envelope, "end");
      const frames = [...fold.endTexts(envelope.node_id), ...fold.ensureShown(call)];
      fold.changeAsked(call.id, false);
      // A call of an interrupted model call that never started is made again.
      const stay = event.error_code === "interrupted" ? "resettable" : "lasting";
      return [...frames, ...fold.addToStep([writeResult(fold, call, event)], stay)];
    },
    {
      lostFields: listLost("tool_end", "call_id", "name", "result", "is_error", "output"),
      note: "`tool-output-error` if it failed, without its data; `tool-output-denied` if it was rejected, without its text",
    },
  ),
  tool_approval: carried(
    "tool-approval-request",
    (fold, event, { envelope }) => {
      const call = trackCall(fold.calls, event, envelope, "before");
      const shown = [...fold.endTexts(envelope.node_id), ...fold.showCall(call, event.arguments)];
      fold.changeAsked(call.id, true);
      call.arguments = event.arguments;
      const request = writeChunk("tool-approval-request", { approvalId: call.id, toolCallId: call.id });
      return [...shown, ...fold.addToStep(fold.version < 6 ? NO_FRAMES : [request], "lasting")];
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
      return fold.changeAsked(call.id, false) ? fold.showDecision(call, event) : NO_FRAMES;
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
    (fold, { url, media_type: mediaType = ANY_IMAGE }, { envelope }) =>
      fold.addPart(envelope, [writeChunk("file", { url, mediaType })]),
    { lostFields: ["alt"] },
  ),
  retrieval_complete: carried(
    "data-loom-retrieval-complete",
    (fold, event, { envelope }) =>
      fold.addPart(envelope, [writeEvent(event, envelope), ...writeSources(event, envelope)]),
    { note: "and a `source-url` for each source with a web address" },
  ),
  error: dataPart("error", "resettable", "clients stop at the chunk `error`, so it is sent only if the run fails"),
  custom: converted(
    "data-loom-custom",
    (fold, event, { envelope }) =>
      fold.addPart(envelope, [isDataChunk(event.value) ? JSON.stringify(event.value) : writeEvent(event, envelope)]),
    { note: "a data part of another program is sent unchanged" },
  ),
  ...sameRow(SESSION_EVENTS, omitted("it belongs to no message")),
  llm_content: omitted("only the owner may read it"),
  foreign: converted(
    "data-loom-foreign",
    (fold, event, { envelope }) => {
      const isResent = event.dialect === AI_SDK && canResend(event.frame, fold.version);
      return fold.addPart(envelope, [isResent ? JSON.stringify(event.frame) : writeEvent(event, envelope)]);
    },
    { note: "chunks that this package has no event for are sent unchanged, if clients know them" },
  ),
  usage: dataPart("usage", "resettable"),
  data: dataPart("data"),
  compression_applied: dataPart("compression_applied", "resettable"),
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
      // Its reply follows and ends the message.
      if (status === "completed") return NO_FRAMES;
      if (status === "cancelled") return fold.abort(reason);
      return [
        ...fold.endStep(),
        writeChunk("error", { errorText: reason ?? FAILED }),
        writeFinish("error", fold.version),
      ];
    },
    {
      lostFields: listLost("run_end", "status", "reason"),
      note: "after `error`, or `data-loom-cancelled` and `abort`, if the run did not complete",
    },
  ),
  reply: carried(
    "finish",
    (fold, { reply }, { envelope }) => [
      ...sendRest(fold, reply, envelope),
      ...fold.endStep(),
      writeFinish(fold.finishReason ?? "stop", fold.version),
    ],
    { note: "text that was not streamed is sent before it; read back as all text of the message" },
  ),
};

function writeResult({ version }: SentMessage, { id: toolCallId }: TrackedCall, event: EventOf<"tool_end">): string {
  const { is_error, result, error_code } = event;
  if (!is_error) return writeChunk("tool-output-available", { toolCallId, output: resultValue(event) });
  if (error_code === "tool_rejected" && version >= 6) return writeChunk("tool-output-denied", { toolCallId });
  return writeChunk("tool-output-error", { toolCallId, errorText: result });
}

function encodeList(
  fold: SentMessage,
  event: EventOf<"todo_list"> | EventOf<"todo_update">,
  { envelope }: StampedRecord,
): readonly string[] {
  const list = fold.changeList(event);
  return fold.addPart(envelope, [list === undefined ? writeEvent(event, envelope) : writeData(list, list.list_id)]);
}

function writeSources(
  { sources = [] }: EventOf<"retrieval_complete">,
  { event_id }: StampedEnvelope,
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
function canResend(frame: unknown, version: number): boolean {
  if (!isJsonObject(frame) || version < (RESENT_CHUNKS.get(frame["type"]) ?? Number.POSITIVE_INFINITY)) return false;
  const { type, providerMetadata = {}, ...fields } = frame;
  const form = findAiSdkFrameForm(type);
  if (form === undefined || findFault(form.fields, frame) !== undefined) return false;
  if (!isJsonObject(providerMetadata) || !Object.values(providerMetadata).every(isJsonObject)) return false;
  return Object.keys(fields).every((name) => form.fields.has(name));
}
