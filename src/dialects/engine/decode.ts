/**
 * Decodes the frames of 003: current types and legacy types (§6), also mixed. A stream may contain several requests,
 * each with its own sequence.
 */
import { BoundedMap } from "../../protocol/bounded-map.ts";
import { type Envelope, findLoomEventFault } from "../../protocol/events.generated.ts";
import type { Form } from "../../protocol/form.ts";
import type { EventType } from "../../protocol/index.ts";
import { isJsonObject, type Json, type JsonObject, keepFields } from "../../protocol/json.ts";
import type { AnyEvent, EventOf, EventRecord } from "../../protocol/record.ts";
import type { Issue } from "../../protocol/rules.ts";
import { unwrapEvent } from "../../protocol/strict.ts";
import type { Decoder, Decoding } from "../dialect.ts";
import { dropMissing } from "../../protocol/drop-undefined.ts";
import { collectExtra, withExtra } from "../extra.ts";
import { checkFrame, confidenceByForm, createReporter, createTypedDecoder } from "../frame-decoder.ts";
import { computeFingerprint, type FrameNumber, isCount, readText } from "../frame-traits.ts";
import { type ReplyBudget, ReplyText } from "../reply-text.ts";
import { DEFAULT_NODE_NAME, splitOutputObject, splitResultObject } from "../tool-values.ts";
import { type EngineFrame, findEngineFrameForm, type ToolCallEndFrame } from "./frames.generated.ts";
import type { EngineFrameType } from "./frames.ts";
import { isLegacyType, LegacyCalls, type LegacyPayload, translateLegacy } from "./legacy.ts";
import { ENGINE_RULES } from "./rules.ts";

const report = /* @__PURE__ */ createReporter(ENGINE_RULES);
const MAX_REQUESTS = 10_000;
const MAX_TOOLS = 10_000;

class EngineRequest {
  readonly id: string | undefined;
  sessionId: string | undefined;
  started = false;
  ended = false;
  nextSequence = 0;
  readonly toolNames = new BoundedMap<string>(MAX_TOOLS);
  /** Calls whose approval was refused. */
  readonly refused = new BoundedMap<true>(MAX_TOOLS);
  readonly reply: ReplyText;
  readonly legacyCalls = new LegacyCalls();

  constructor(id: string | undefined, budget: ReplyBudget) {
    this.id = id;
    this.reply = new ReplyText(budget);
  }
}

/** A decoded frame with its metadata. */
interface EngineMessage extends LegacyPayload {
  readonly extra: JsonObject | undefined;
  readonly metadata: JsonObject;
  /** The legacy form has no session_start. */
  readonly isLegacy: boolean;
}

export const ENGINE_DECODING: Decoding = {
  createDecoder: createEngineDecoder,
  confidence(frame) {
    const { type, data, metadata } = frame;
    if (typeof type === "string" && isLegacyType(type)) return 1;
    return confidenceByForm(findEngineFrameForm(type), frame, typeof data === "object" && typeof metadata === "object");
  },
  traits: {
    readSession,
    unnamed: "stream",
    streams: {
      readKey: readRequestId,
      isStart: ({ type }) => type === "session_start",
      isEnd: ({ type }) => type === "session_end" || type === "done",
    },
    numbering: { isEventId: false, first: 0, readNumber },
  },
};

function readSession({ type, data, session_id }: JsonObject): string | undefined {
  if (type !== "session_start") return undefined;
  return readText(isJsonObject(data) ? data["session_id"] : session_id);
}

function readRequestId({ type, data, metadata }: JsonObject): string {
  const named = isJsonObject(metadata) ? readText(metadata["request_id"]) : undefined;
  if (named !== undefined || type !== "session_start") return named ?? "";
  return readText(isJsonObject(data) ? data["request_id"] : undefined) ?? "";
}

function readNumber(frame: JsonObject): FrameNumber | undefined {
  const { data, metadata } = frame;
  if (!isJsonObject(metadata) || !isCount(metadata["sequence"])) return undefined;
  return {
    number: metadata["sequence"],
    previous: undefined,
    fingerprint: computeFingerprint(metadata["timestamp"], isJsonObject(data) ? data : frame),
    contiguous: undefined,
  };
}

function createEngineDecoder(): Decoder {
  const budget: ReplyBudget = { held: 0 };
  const requests = new BoundedMap<EngineRequest>(MAX_REQUESTS, (request) => request.reply.clear());
  let current: EngineRequest | undefined;

  /** The request with this ID, or the current one if the frame has no ID. */
  function findRequest(id: Json | undefined, type: string, isLegacy: boolean): EngineRequest {
    const hasId = typeof id === "string";
    const known = hasId ? requests.get(id) : current;
    // After its end, a session_start reuses the ID. The legacy form has neither IDs nor a session_start.
    const beginsAnother = type === "session_start" || (isLegacy && !hasId && known?.id === undefined);
    if (known !== undefined && !(known.ended && beginsAnother)) return known;
    const request = new EngineRequest(hasId ? id : undefined, budget);
    if (hasId) requests.set(id, request);
    return request;
  }

  return createTypedDecoder("message", (frame, type, issues) => {
    const parts = splitFrame(frame, type);
    const startId = type === "session_start" ? parts.payload["request_id"] : undefined;
    const request = findRequest(startId ?? parts.metadata["request_id"], type, parts.isLegacy);
    if (isLegacyType(type) || findEngineFrameForm(type) !== undefined) {
      const message = readMessage(type, frame, parts, request, issues);
      // A rejected frame must not become the current request.
      if (message === undefined) return [];
      current = request;
      return toRecords(message, request, issues);
    }
    current = request;
    const envelope = envelopeOf(request, parts.metadata);
    checkMetadata(type, parts.metadata, request, issues);
    checkOrder(request, type, issues);
    const records = openRequest(request, envelope);
    records.push({ envelope, event: { type: "foreign", dialect: "engine", frame } });
    return records;
  });
}

interface FrameParts {
  readonly payload: JsonObject;
  /** Empty if the frame has none. */
  readonly metadata: JsonObject;
  readonly hasMetadata: boolean;
  /** The payload is next to `type`, not in `data`. */
  readonly isFlat: boolean;
  /** It has the legacy form or a legacy type. */
  readonly isLegacy: boolean;
}

const METADATA = ["request_id", "sequence", "timestamp"];

function splitFrame({ type: _type, metadata, ...beside }: JsonObject, type: string): FrameParts {
  const { data } = beside;
  const isFlat = !isJsonObject(data);
  // A flat payload may have its own field `metadata`.
  const hasMetadata = isJsonObject(metadata) && (!isFlat || METADATA.some((name) => metadata[name] !== undefined));
  const payload = !isFlat ? data : hasMetadata || metadata === undefined ? beside : { ...beside, metadata };
  return {
    payload,
    metadata: hasMetadata ? metadata : {},
    hasMetadata,
    isFlat,
    isLegacy: isFlat || isLegacyType(type),
  };
}

function envelopeOf({ id, sessionId }: EngineRequest, { timestamp: ts }: JsonObject): Envelope {
  return dropMissing({ session_id: sessionId, run_id: id, ts: isTimestamp(ts) ? toMilliseconds(ts) : undefined });
}

/** Seconds since 1970 have ten digits since 2001, as in the examples of 003; milliseconds then have more. */
const SECONDS_FROM = 1e9;
const SECONDS_TO = 1e11;

function toMilliseconds(time: number): number {
  return time >= SECONDS_FROM && time < SECONDS_TO ? Math.round(time * 1000) : time;
}

/** Checks a frame of a known type. Returns undefined if it is rejected. */
function readMessage(
  type: string,
  frame: JsonObject,
  { payload, metadata, hasMetadata, isFlat, isLegacy }: FrameParts,
  request: EngineRequest,
  issues: Issue[],
): EngineMessage | undefined {
  if (isLegacy) report(issues, "engine-legacy", `\`${type}\` is in the legacy form`);
  if (hasMetadata) checkMetadata(type, metadata, request, issues);
  else if (!isLegacy || !isJsonObject(frame["metadata"] ?? {}))
    report(issues, "engine-metadata", "`metadata` is missing");
  const { request_id } = metadata;
  if (type === "session_start" && typeof request_id === "string" && payload["request_id"] !== request_id) {
    report(issues, "engine-request-id", "`metadata.request_id` differs from `data.request_id`");
  }
  const translated = translateLegacy(type, payload, isFlat, request.legacyCalls);
  const { data } = translated;
  const form = findEngineFrameForm(translated.type) as Form;
  // Of the metadata, the form checks the duration only: faults of the others are reported, but do not reject the frame.
  const checkedMetadata = { request_id: "", timestamp: 0, sequence: 0, duration_ms: metadata["duration_ms"] ?? null };
  if (!checkFrame(form, { data, metadata: checkedMetadata }, issues)) {
    // Takes back the start by `translateLegacy`.
    if (type === "tool_call") request.legacyCalls.end(data["tool_id"]);
    return undefined;
  }
  return {
    ...translated,
    extra: isLegacy ? undefined : collectExtra(frame, form.fields, "type"),
    metadata,
    isLegacy,
  };
}

function checkMetadata(type: string, metadata: JsonObject, request: EngineRequest, issues: Issue[]): void {
  const { request_id, timestamp, sequence } = metadata;
  if (typeof request_id !== "string" && (type !== "session_start" || request_id != null)) {
    report(issues, "engine-metadata", "`metadata.request_id` must be a string");
  }
  if (!isTimestamp(timestamp))
    report(issues, "engine-metadata", "`metadata.timestamp` must be a number of milliseconds or seconds");
  if (!isCount(sequence)) {
    report(issues, "engine-metadata", "`metadata.sequence` must be an integer from 0");
    return;
  }
  const expected = request.nextSequence;
  request.nextSequence = sequence + 1;
  if (sequence !== expected)
    report(issues, "engine-sequence", `\`metadata.sequence\` is ${sequence}, expected ${expected}`);
}

function isTimestamp(value: unknown): value is number {
  return Number.isFinite(value);
}

function checkOrder(request: EngineRequest, type: string, issues: Issue[], isLegacy = false): void {
  if (request.ended) report(issues, "engine-after-end", `\`${type}\` follows the session_end of its request`);
  else if (!request.started && !isLegacy) {
    report(issues, "engine-start-first", `the request starts with \`${type}\` instead of session_start`);
  }
}

/** Starts the run of a request, unless it has started. */
function openRequest(request: EngineRequest, envelope: Envelope): EventRecord[] {
  if (request.started) return [];
  request.started = true;
  const { id } = request;
  return [{ envelope, event: dropMissing({ type: "run_start", run_id: id, request_id: id }) }];
}

function toRecords(message: EngineMessage, request: EngineRequest, issues: Issue[]): EventRecord[] {
  const { type, data } = message as unknown as EngineFrame;
  if (type === "session_start") {
    if (request.started) report(issues, "engine-start-once", "the request has a second session_start");
    request.sessionId = data.session_id;
    // Also a second session_start starts a run.
    request.started = false;
  } else checkOrder(request, type, issues, message.isLegacy);
  const plain = envelopeOf(request, message.metadata);
  // If a frame becomes several records, the last one has its extra fields: the encoder writes the frame from that one.
  const envelope = withExtra(plain, "engine", message.extra);
  if (type === "session_start") return openRequest(request, envelope);
  const records = openRequest(request, plain);
  const add = (event: AnyEvent, at: Envelope = envelope) => records.push({ envelope: at, event });
  switch (type) {
    case "thinking":
      add({ type: "reasoning_chunk", ...keepDeclared(data, type) });
      break;
    case "content":
      if (message.replaces) {
        // Show the new part if the answer extends the streamed text. If it differs, the reply replaces that text.
        const streamed = request.reply.toString();
        const more = data.content.startsWith(streamed) ? data.content.slice(streamed.length) : "";
        if (more !== "") add({ type: "message_chunk", content: more, id: DEFAULT_NODE_NAME });
        request.reply.replace(data.content);
      } else {
        request.reply.add(data.content);
        const { content, ...more } = keepDeclared(data, type);
        add({ type: "message_chunk", content, id: DEFAULT_NODE_NAME, ...more } as unknown as AnyEvent);
      }
      break;
    case "tool_call_start": {
      request.reply.mark();
      const { tool_id: call_id, tool_name: name, description, arguments: args } = data;
      request.toolNames.set(call_id, name);
      add(dropMissing({ type: "tool_call", call_id, name, arguments: args, description }), plain);
      // 003 has a start for every end; the tool of a refused call did not start.
      if (!request.refused.delete(call_id)) add({ type: "tool_start", call_id, name });
      break;
    }
    case "tool_call_progress": {
      const { tool_id: call_id, progress } = data;
      const name = request.toolNames.get(call_id);
      // 003 §1.1 requires a message, so a sender without one sends an empty text.
      const message = data.message === "" ? undefined : data.message;
      add(dropMissing({ type: "tool_progress", call_id, name, progress, message }));
      break;
    }
    case "tool_call_end":
      request.reply.mark();
      add(toolEnd(data, request, message.metadata, issues));
      break;
    case "data": {
      const event = dataEvent(data);
      if (event.type === "tool_approval") {
        const { call_id, name } = event as EventOf<"tool_approval">;
        if (call_id !== undefined) request.toolNames.set(call_id, name);
      } else if (event.type === "tool_approval_result") {
        const { call_id, decision } = event as EventOf<"tool_approval_result">;
        if (call_id !== undefined && decision !== "approved") request.refused.set(call_id, true);
      }
      add(event);
      break;
    }
    case "error": {
      // An error that announces another attempt has its number in the metadata.
      const { attempt: given } = message.metadata;
      const attempt = data.code === "interrupted" && typeof given === "number" ? given : undefined;
      if (attempt !== undefined) request.reply.rollBack();
      add({ type, ...keepDeclared(data, type), ...(attempt === undefined ? {} : { attempt }) });
      break;
    }
    case "session_end": {
      const { status, summary } = data;
      request.ended = true;
      const completed = status === "completed";
      add(dropMissing({ type: "run_end", status, summary }), completed ? plain : envelope);
      if (request.reply.overflowed)
        report(issues, "engine-reply-limit", "the answer exceeds the limit; the reply is cut off");
      if (completed) add({ type: "reply", reply: request.reply.toString() });
      // An ended request only has to be recognized.
      request.reply.clear();
      request.toolNames.clear();
      request.refused.clear();
      break;
    }
  }
  return records;
}

/** Returns the declared fields of a frame's data without nulls; other fields are kept as extra. */
function keepDeclared(data: object, type: EngineFrameType): JsonObject {
  const fields = findEngineFrameForm(type)?.fields.get("data")?.schema.fields;
  return keepFields(data as JsonObject, (name, value) => value !== null && fields?.has(name));
}

function toolEnd(
  frame: ToolCallEndFrame["data"],
  request: EngineRequest,
  { duration_ms }: JsonObject,
  issues: Issue[],
): AnyEvent {
  const { tool_id: call_id, status, result, error } = frame;
  const name = request.toolNames.get(call_id) ?? "unknown";
  const failed = status !== "success";
  if (!failed && error != null) report(issues, "engine-error-field", "`data.error` is only allowed if the tool failed");
  if (failed && error == null) report(issues, "engine-error-missing", "the tool failed, but `data.error` is missing");
  const { result: text, ...data } = failed
    ? {
        result: error?.detail ?? error?.message ?? "failed",
        ...(result == null ? {} : { output: splitOutputObject(result) }),
      }
    : splitResultObject(result ?? undefined);
  const more = dropMissing({ error_code: failed ? error?.code : null, duration_ms });
  return { type: "tool_end", call_id, name, result: text, is_error: failed, ...data, ...more };
}

/** Events that are sent as application data. No other type is unwrapped. */
const CUSTOM_DATA_TYPES: readonly string[] = [
  "tool_approval",
  "tool_approval_result",
  "todo_list",
  "todo_update",
  "custom",
  "data",
] satisfies readonly EventType[];

/** Returns a data event, or the event that was sent as application data. */
function dataEvent(data: JsonObject): AnyEvent {
  const inner = data["data_type"] === "custom" ? unwrapEvent(data["data"]) : undefined;
  if (inner !== undefined && CUSTOM_DATA_TYPES.includes(inner.type) && findLoomEventFault(inner) === undefined)
    return inner;
  const { data_type, data: body, metadata } = data;
  return dropMissing({ type: "data", data_type, data: body, metadata });
}
