/**
 * Reads the frames of 003: new types, old types (§6), alone and mixed. Requests in one stream are told apart by their
 * request id; each counts its own sequence.
 */
import { BoundedMap } from "../../protocol/bounded-map.ts";
import { findLoomEventFault } from "../../protocol/events.generated.ts";
import type { Form } from "../../protocol/form.ts";
import type { Envelope, EventType } from "../../protocol/index.ts";
import { isJsonObject, type Json, type JsonObject, keepFields } from "../../protocol/json.ts";
import type { AnyEvent, EventOf, EventRecord } from "../../protocol/record.ts";
import { createRaise, type Issue } from "../../protocol/rules.ts";
import { unwrapEvent } from "../../protocol/strict.ts";
import type { Decoder, Decoding } from "../dialect.ts";
import { dropMissing } from "../drop-missing.ts";
import { collectExtra, withExtra } from "../extra.ts";
import { checkFrame, claimByForm, createTypedDecoder } from "../frame-decoder.ts";
import { type ReplyBudget, ReplyText } from "../reply-text.ts";
import { NODE_NAME, splitOutputObject, splitResultObject } from "../tool-values.ts";
import { type EngineFrame, findEngineFrameForm, type ToolCallEndFrame } from "./frames.generated.ts";
import type { EngineFrameType } from "./frames.ts";
import { isLegacyType, LegacyCalls, type LegacyPayload, translateLegacy } from "./legacy.ts";
import { ENGINE_GRADES } from "./rules.generated.ts";

const raise = /* @__PURE__ */ createRaise(ENGINE_GRADES);
const MAX_REQUESTS = 10_000;
const MAX_TOOLS = 10_000;

interface Request {
  readonly id: string | undefined;
  sessionId?: string;
  started?: boolean;
  ended?: boolean;
  nextSequence: number;
  readonly toolNames: BoundedMap<string>;
  readonly reply: ReplyText;
  readonly legacyCalls: LegacyCalls;
}

/** A frame on its way in, with its metadata taken apart. */
interface Incoming extends LegacyPayload {
  readonly extra: JsonObject | undefined;
  readonly metadata: JsonObject;
  /** Old senders have no session_start. */
  readonly legacy: boolean;
}

export const ENGINE_DECODING: Decoding = {
  createDecoder: createEngineDecoder,
  claim(frame) {
    const { type, data, metadata } = frame;
    if (typeof type === "string" && isLegacyType(type)) return 1;
    return claimByForm(findEngineFrameForm(type), frame, typeof data === "object" && typeof metadata === "object");
  },
};

function createEngineDecoder(): Decoder {
  const budget: ReplyBudget = { held: 0 };
  const requests = new BoundedMap<Request>(MAX_REQUESTS, (request) => request.reply.clear());
  let current: Request | undefined;

  /** The request called `id`, or the one that is going where no id is given. */
  function requestOf(id: Json | undefined, begins: boolean, isOld: boolean): Request {
    const named = typeof id === "string";
    const known = named ? requests.get(id) : current;
    // A request id may be used again: session_start after the end begins anew. Old senders have neither.
    const isAnew = begins || (isOld && !named && known?.id === undefined);
    if (known !== undefined && !(known.ended && isAnew)) return known;
    const request = {
      id: named ? id : undefined,
      nextSequence: 0,
      toolNames: new BoundedMap<string>(MAX_TOOLS),
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
      // A frame that was refused must not change which request later ones belong to.
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
  return dropMissing({ session_id: sessionId, run_id: id, ts: isTimestamp(ts) ? ts : undefined });
}

/** Checks a frame of a type that is known; undefined when it was refused. */
function readFrame(
  type: string,
  frame: JsonObject,
  metadata: JsonObject,
  request: Request,
  issues: Issue[],
): Incoming | undefined {
  const { type: _type, metadata: about, ...beside } = frame;
  const flat = !isJsonObject(frame["data"]);
  const payload = flat ? beside : (frame["data"] as JsonObject);
  const legacy = flat || isLegacyType(type);
  if (legacy) issues.push(raise("engine-legacy", `\`${type}\` is in the old form`));
  if (isJsonObject(about)) checkMetadata(type, metadata, request, issues);
  else if (about !== undefined || !legacy) issues.push(raise("engine-metadata", "`metadata` is missing"));
  const { request_id } = metadata;
  if (type === "session_start" && typeof request_id === "string" && payload["request_id"] !== request_id) {
    issues.push(raise("engine-request-id", "`metadata.request_id` is another than `data.request_id`"));
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
    issues.push(raise("engine-metadata", "`metadata.request_id` must be a string"));
  }
  if (!isTimestamp(timestamp))
    issues.push(raise("engine-metadata", "`metadata.timestamp` must be a number of milliseconds"));
  if (!Number.isSafeInteger(sequence) || (sequence as number) < 0) {
    issues.push(raise("engine-metadata", "`metadata.sequence` must be a whole number from 0"));
    return;
  }
  const expected = request.nextSequence;
  request.nextSequence = (sequence as number) + 1;
  if (sequence !== expected)
    issues.push(raise("engine-sequence", `\`metadata.sequence\` is ${sequence as number}, expected ${expected}`));
}

function isTimestamp(value: unknown): value is number {
  return Number.isFinite(value);
}

function checkOrder(request: Request, type: string, issues: Issue[], legacy = false): void {
  if (request.ended) issues.push(raise("engine-after-end", `\`${type}\` comes after the request's session_end`));
  else if (!request.started && !legacy) {
    issues.push(raise("engine-start-first", `the request begins with \`${type}\`, not with session_start`));
  }
}

/** The run_start of a request that began without one. */
function openRequest(request: Request, envelope: Envelope): EventRecord[] {
  if (request.started) return [];
  request.started = true;
  const { id } = request;
  return [{ envelope, event: dropMissing({ type: "run_start", run_id: id, request_id: id }) }];
}

function toRecords(incoming: Incoming, request: Request, issues: Issue[]): EventRecord[] {
  const { type, data } = incoming as unknown as EngineFrame;
  if (type === "session_start") {
    if (request.started) issues.push(raise("engine-start-once", "a second session_start for the same request"));
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
        // Shown at once as far as it goes on with what was streamed; where it differs, the reply replaces that.
        const streamed = request.reply.toString();
        const more = data.content.startsWith(streamed) ? data.content.slice(streamed.length) : "";
        if (more !== "") add({ type: "message_chunk", content: more, id: NODE_NAME });
        request.reply.replace(data.content);
      } else {
        request.reply.add(data.content);
        const { content, ...more } = known(data, type);
        add({ type: "message_chunk", content, id: NODE_NAME, ...more } as unknown as AnyEvent);
      }
      break;
    case "tool_call_start": {
      const { tool_id: call_id, tool_name: name, description, arguments: args } = data;
      request.toolNames.set(call_id, name);
      add(dropMissing({ type: "tool_call", call_id, name, arguments: args, description }), plain);
      add({ type: "tool_start", call_id, name });
      break;
    }
    case "tool_call_progress": {
      const { tool_id: call_id, progress, message } = data;
      const name = request.toolNames.get(call_id);
      add(dropMissing({ type: "tool_progress", call_id, name, progress, message }));
      break;
    }
    case "tool_call_end":
      add(toolEnd(data, request, incoming.metadata, issues));
      break;
    case "data": {
      const event = dataEvent(data);
      if (event.type === "tool_approval") {
        const { call_id, name } = event as EventOf<"tool_approval">;
        if (call_id !== undefined) request.toolNames.set(call_id, name);
      }
      add(event);
      break;
    }
    case "error":
      add({ type, ...known(data, type) });
      break;
    case "session_end": {
      const { status, summary } = data;
      request.ended = true;
      const completed = status === "completed";
      add(dropMissing({ type: "run_end", status, summary }), completed ? plain : envelope);
      if (request.reply.overflowed)
        issues.push(raise("engine-reply-limit", "the answer is longer than the limit; its reply is cut"));
      if (completed) add({ type: "reply", reply: request.reply.toString() });
      // What is left of the request only tells that it is over.
      request.reply.clear();
      request.toolNames.clear();
      break;
    }
  }
  return records;
}

/** The declared fields of a frame's data, nulls left out; the rest is kept as extra. */
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
  if (!failed && error != null) issues.push(raise("engine-error-field", "`data.error` is only for tools that failed"));
  if (failed && error == null)
    issues.push(raise("engine-error-missing", "the tool failed and `data.error` does not say why"));
  const { result: text, ...data } = failed
    ? { result: error?.message ?? "failed", ...(result == null ? {} : { output: splitOutputObject(result) }) }
    : splitResultObject(result ?? undefined);
  const more = dropMissing({ error_code: failed ? error?.code : null, duration_ms });
  return { type: "tool_end", call_id, name, result: text, is_error: failed, ...data, ...more };
}

/** The events of ours that travel as a block of data: nothing else is taken out of one. */
const CUSTOM_DATA_TYPES: readonly string[] = [
  "tool_approval",
  "tool_approval_result",
  "todo_list",
  "todo_update",
  "custom",
  "data",
] satisfies readonly EventType[];

/** A block of data, or the event of ours that travelled as one. */
function dataEvent(data: JsonObject): AnyEvent {
  const inner = data["data_type"] === "custom" ? unwrapEvent(data["data"]) : undefined;
  if (inner !== undefined && CUSTOM_DATA_TYPES.includes(inner.type) && findLoomEventFault(inner) === undefined)
    return inner;
  const { data_type, data: body, metadata } = data;
  return dropMissing({ type: "data", data_type, data: body, metadata });
}
