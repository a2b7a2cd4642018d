/**
 * Decodes the frames of 003: current types and legacy types (§6), also mixed. A stream may contain several requests,
 * each with its own sequence.
 */
import { BoundedMap } from "../../protocol/bounded-map.ts";
import { findLoomEventFault } from "../../protocol/events.generated.ts";
import type { Form } from "../../protocol/form.ts";
import type { Envelope, EventType } from "../../protocol/index.ts";
import { isJsonObject, type Json, type JsonObject, keepFields } from "../../protocol/json.ts";
import type { AnyEvent, EventOf, EventRecord } from "../../protocol/record.ts";
import { createIssueFactory, type Issue } from "../../protocol/rules.ts";
import { unwrapEvent } from "../../protocol/strict.ts";
import type { Decoder, Decoding } from "../dialect.ts";
import { dropMissing } from "../../protocol/drop-undefined.ts";
import { collectExtra, withExtra } from "../extra.ts";
import { checkFrame, confidenceByForm, createTypedDecoder } from "../frame-decoder.ts";
import { computeFingerprint, type FrameNumber, isCount, readText } from "../frame-traits.ts";
import { type ReplyBudget, ReplyText } from "../reply-text.ts";
import { DEFAULT_NODE_NAME, splitOutputObject, splitResultObject } from "../tool-values.ts";
import { type EngineFrame, type ErrorFrame, findEngineFrameForm, type ToolCallEndFrame } from "./frames.generated.ts";
import type { EngineFrameType } from "./frames.ts";
import { isLegacyType, LegacyCalls, type LegacyPayload, translateLegacy } from "./legacy.ts";
import { ENGINE_RULES } from "./rules.ts";

const createIssue = /* @__PURE__ */ createIssueFactory(ENGINE_RULES);
const MAX_REQUESTS = 10_000;
const MAX_TOOLS = 10_000;

interface Request {
  readonly id: string | undefined;
  sessionId?: string;
  started?: boolean;
  ended?: boolean;
  nextSequence: number;
  readonly toolNames: BoundedMap<string>;
  /** Calls whose approval was refused. */
  readonly refused: BoundedMap<true>;
  readonly reply: ReplyText;
  readonly legacyCalls: LegacyCalls;
}

/** A decoded frame with its metadata. */
interface EngineMessage extends LegacyPayload {
  readonly extra: JsonObject | undefined;
  readonly metadata: JsonObject;
  /** True for the legacy form, which has no session_start. */
  readonly legacy: boolean;
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
  const requests = new BoundedMap<Request>(MAX_REQUESTS, (request) => request.reply.clear());
  let current: Request | undefined;

  /** Returns the request with this ID, or the current one if there is no ID. */
  function requestOf(id: Json | undefined, begins: boolean, isOld: boolean): Request {
    const named = typeof id === "string";
    const known = named ? requests.get(id) : current;
    // A request ID may be reused: session_start after the end starts a new request. The legacy form has neither.
    const restarts = begins || (isOld && !named && known?.id === undefined);
    if (known !== undefined && !(known.ended && restarts)) return known;
    const request = {
      id: named ? id : undefined,
      nextSequence: 0,
      toolNames: new BoundedMap<string>(MAX_TOOLS),
      refused: new BoundedMap<true>(MAX_TOOLS),
      reply: new ReplyText(budget),
      legacyCalls: new LegacyCalls(),
    };
    if (named) requests.set(id, request);
    return request;
  }

  return createTypedDecoder("message", (frame, type, issues) => {
    const { data, metadata: about } = frame;
    const metadata =
      isJsonObject(about) && (isJsonObject(data) || METADATA.some((name) => about[name] !== undefined)) ? about : {};
    const begins = type === "session_start";
    const named = begins ? (isJsonObject(data) ? data : frame)["request_id"] : undefined;
    const isOld = isLegacyType(type) || !isJsonObject(data);
    const request = requestOf(named ?? metadata["request_id"], begins, isOld);
    if (isLegacyType(type) || findEngineFrameForm(type) !== undefined) {
      const incoming = readFrame(type, frame, metadata, request, issues);
      // A rejected frame must not change the current request.
      if (incoming === undefined) return [];
      current = request;
      return toRecords(incoming, request, issues);
    }
    current = request;
    const envelope = envelopeOf(request, metadata);
    checkMetadata(type, metadata, request, issues);
    checkOrder(request, type, issues);
    const records = openRequest(request, envelope);
    records.push({ envelope, event: { type: "foreign", dialect: "engine", frame } });
    return records;
  });
}

const METADATA = ["request_id", "sequence", "timestamp"];

function envelopeOf({ id, sessionId }: Request, { timestamp: ts }: JsonObject): Envelope {
  return dropMissing({ session_id: sessionId, run_id: id, ts: isTimestamp(ts) ? toMilliseconds(ts) : undefined });
}

/** Seconds since 1970 have ten digits since 2001, as in the examples of 003; milliseconds then have more. */
const SECONDS_FROM = 1e9;
const SECONDS_TO = 1e11;

function toMilliseconds(time: number): number {
  return time >= SECONDS_FROM && time < SECONDS_TO ? Math.round(time * 1000) : time;
}

/** Checks a frame of a known type. Returns undefined if it is rejected. */
function readFrame(
  type: string,
  frame: JsonObject,
  metadata: JsonObject,
  request: Request,
  issues: Issue[],
): EngineMessage | undefined {
  const { type: _type, metadata: about, ...beside } = frame;
  const flat = !isJsonObject(frame["data"]);
  const payload = flat ? beside : (frame["data"] as JsonObject);
  const legacy = flat || isLegacyType(type);
  if (legacy) issues.push(createIssue("engine-legacy", `\`${type}\` is in the legacy form`));
  if (isJsonObject(about)) checkMetadata(type, metadata, request, issues);
  else if (about !== undefined || !legacy) issues.push(createIssue("engine-metadata", "`metadata` is missing"));
  const { request_id } = metadata;
  if (type === "session_start" && typeof request_id === "string" && payload["request_id"] !== request_id) {
    issues.push(createIssue("engine-request-id", "`metadata.request_id` differs from `data.request_id`"));
  }
  const translated = translateLegacy(type, payload, flat, request.legacyCalls);
  const { data } = translated;
  const whole = {
    data,
    metadata: { request_id: "", timestamp: 0, sequence: 0, duration_ms: metadata["duration_ms"] ?? null },
  };
  const form = findEngineFrameForm(translated.type) as Form;
  if (!checkFrame(form, whole, issues)) {
    if (type === "tool_call") request.legacyCalls.end(data["tool_id"]);
    return undefined;
  }
  const extra = legacy ? undefined : collectExtra(frame, form.fields, "type");
  return { ...translated, extra, metadata, legacy };
}

function checkMetadata(type: string, metadata: JsonObject, request: Request, issues: Issue[]): void {
  const { request_id, timestamp, sequence } = metadata;
  if (typeof request_id !== "string" && (type !== "session_start" || request_id != null)) {
    issues.push(createIssue("engine-metadata", "`metadata.request_id` must be a string"));
  }
  if (!isTimestamp(timestamp))
    issues.push(createIssue("engine-metadata", "`metadata.timestamp` must be a number of milliseconds or seconds"));
  if (!isCount(sequence)) {
    issues.push(createIssue("engine-metadata", "`metadata.sequence` must be an integer from 0"));
    return;
  }
  const expected = request.nextSequence;
  request.nextSequence = sequence + 1;
  if (sequence !== expected)
    issues.push(createIssue("engine-sequence", `\`metadata.sequence\` is ${sequence}, expected ${expected}`));
}

function isTimestamp(value: unknown): value is number {
  return Number.isFinite(value);
}

function checkOrder(request: Request, type: string, issues: Issue[], legacy = false): void {
  if (request.ended) issues.push(createIssue("engine-after-end", `\`${type}\` follows the session_end of its request`));
  else if (!request.started && !legacy) {
    issues.push(createIssue("engine-start-first", `the request starts with \`${type}\` instead of session_start`));
  }
}

/** Starts the run of a request that has no session_start. */
function openRequest(request: Request, envelope: Envelope): EventRecord[] {
  if (request.started) return [];
  request.started = true;
  const { id } = request;
  return [{ envelope, event: dropMissing({ type: "run_start", run_id: id, request_id: id }) }];
}

function toRecords(incoming: EngineMessage, request: Request, issues: Issue[]): EventRecord[] {
  const { type, data } = incoming as unknown as EngineFrame;
  if (type === "session_start") {
    if (request.started) issues.push(createIssue("engine-start-once", "the request has a second session_start"));
    request.sessionId = data.session_id;
    request.started = false;
  } else checkOrder(request, type, issues, incoming.legacy);
  const plain = envelopeOf(request, incoming.metadata);
  const envelope = withExtra(plain, "engine", incoming.extra);
  if (type === "session_start") return openRequest(request, envelope);
  const records = openRequest(request, plain);
  const add = (event: AnyEvent, at: Envelope = envelope) => records.push({ envelope: at, event });
  switch (type) {
    case "thinking":
      add({ type: "reasoning_chunk", ...known(data, type) });
      break;
    case "content":
      if (incoming.replaces) {
        // Show the new part if the answer extends the streamed text. If it differs, the reply replaces that text.
        const streamed = request.reply.toString();
        const more = data.content.startsWith(streamed) ? data.content.slice(streamed.length) : "";
        if (more !== "") add({ type: "message_chunk", content: more, id: DEFAULT_NODE_NAME });
        request.reply.replace(data.content);
      } else {
        request.reply.add(data.content);
        const { content, ...more } = known(data, type);
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
      add(toolEnd(data, request, incoming.metadata, issues));
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
      const attempt = findAttempt(data, incoming.metadata);
      if (attempt !== undefined) request.reply.rollBack();
      add({ type, ...known(data, type), ...(attempt === undefined ? {} : { attempt }) });
      break;
    }
    case "session_end": {
      const { status, summary } = data;
      request.ended = true;
      const completed = status === "completed";
      add(dropMissing({ type: "run_end", status, summary }), completed ? plain : envelope);
      if (request.reply.overflowed)
        issues.push(createIssue("engine-reply-limit", "the answer exceeds the limit; the reply is cut off"));
      if (completed) add({ type: "reply", reply: request.reply.toString() });
      // An ended request only has to be recognized.
      request.reply.clear();
      request.toolNames.clear();
      break;
    }
  }
  return records;
}

/** Returns the attempt that an error announces; it is in the metadata. */
function findAttempt({ code }: ErrorFrame["data"], { attempt }: JsonObject): number | undefined {
  return code === "interrupted" && typeof attempt === "number" ? attempt : undefined;
}

/** Returns the declared fields of a frame's data without nulls; other fields are kept as extra. */
function known(data: object, type: EngineFrameType): JsonObject {
  const fields = findEngineFrameForm(type)?.fields.get("data")?.schema.fields;
  return keepFields(data as JsonObject, (name, value) => value !== null && fields?.has(name));
}

function toolEnd(
  frame: ToolCallEndFrame["data"],
  request: Request,
  { duration_ms }: JsonObject,
  issues: Issue[],
): AnyEvent {
  const { tool_id: call_id, status, result, error } = frame;
  const name = request.toolNames.get(call_id) ?? "unknown";
  const failed = status !== "success";
  if (!failed && error != null)
    issues.push(createIssue("engine-error-field", "`data.error` is only allowed if the tool failed"));
  if (failed && error == null)
    issues.push(createIssue("engine-error-missing", "the tool failed, but `data.error` is missing"));
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
