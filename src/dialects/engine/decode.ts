/**
 * Reads the frames of 003: new types, old types (§6), alone and mixed. Requests in one stream are told apart by their
 * request id; each counts its own sequence.
 */
import {
  type AnyEvent,
  BoundedMap,
  createRaise,
  type Envelope,
  type EventOf,
  type EventRecord,
  findEventFault,
  type Hint,
  type Issue,
  isJsonObject,
  type Json,
  type JsonObject,
  unwrapEvent,
} from "../../protocol/index.ts";
import type { Decoded, Decoder } from "../dialect.ts";
import { collectExtra, withExtra } from "../extra.ts";
import { issueOfFault, issueOfHint, issueOfKind, parseFrame } from "../parse-frame.ts";
import { type ReplyBudget, ReplyText } from "../reply-text.ts";
import { NODE_NAME, splitOutputObject, splitResultObject } from "../tool-values.ts";
import { CUSTOM_DATA_TYPES } from "./encode.ts";
import { type EngineFrame, findEngineFrameFault, type ToolCallEndFrame } from "./frames.generated.ts";
import { ENGINE_FRAMES, type EngineFrameType } from "./frames.ts";
import { completeLegacyError, isLegacyType, LegacyCalls, translateLegacy } from "./legacy.ts";
import { ENGINE_RULES } from "./rules.ts";

const raise = createRaise(ENGINE_RULES);
const MAX_REQUESTS = 10_000;
const MAX_TOOLS = 10_000;

interface Request {
  readonly id: string | undefined;
  sessionId: string | undefined;
  started: boolean;
  ended: boolean;
  nextSequence: number | undefined;
  readonly toolNames: BoundedMap<string>;
  readonly reply: ReplyText;
  readonly legacyCalls: LegacyCalls;
}

/** A frame on its way in, with its metadata taken apart. */
interface Incoming {
  readonly type: EngineFrameType;
  readonly data: JsonObject;
  readonly extra: JsonObject | undefined;
  readonly ts: number | undefined;
  readonly durationMs: number | undefined;
  readonly replaces: boolean;
  /** Old senders have no session_start. */
  readonly legacy: boolean;
}

export function createEngineDecoder(): Decoder {
  const budget: ReplyBudget = { held: 0 };
  const requests = new BoundedMap<Request>(MAX_REQUESTS, (request) => request.reply.clear());
  let current: Request | undefined;

  function requestOf(type: string, data: JsonObject, metadata: JsonObject): Request {
    const named = type === "session_start" ? (data["request_id"] ?? metadata["request_id"]) : metadata["request_id"];
    if (typeof named !== "string") {
      if (current === undefined || (current.ended && type === "session_start"))
        current = createRequest(undefined, budget);
      return current;
    }
    const known = requests.get(named);
    // A request id may be used again: session_start after the end begins anew.
    if (known !== undefined && !(known.ended && type === "session_start")) current = known;
    else requests.set(named, (current = createRequest(named, budget)));
    return current;
  }

  return {
    decode(text): Decoded {
      const parsed = parseFrame(text);
      if (!parsed.ok) return { records: [], issues: [parsed.issue] };
      const { frame } = parsed;
      const { type } = frame;
      if (typeof type !== "string") return { records: [], issues: [issueOfKind("the message has no `type`")] };
      const issues: Issue[] = [];
      const metadata =
        isJsonObject(frame["metadata"]) && (isJsonObject(frame["data"]) || hasMetadataField(frame["metadata"]))
          ? frame["metadata"]
          : {};
      const previous = current;
      const request = requestOf(type, isJsonObject(frame["data"]) ? frame["data"] : frame, metadata);
      const incoming = readFrame(type, frame, metadata, request, issues);
      const envelope = envelopeOf(request, isTimestamp(metadata["timestamp"]) ? metadata["timestamp"] : undefined);
      if (incoming === "unknown") {
        checkOrder(request, type, issues);
        const records = openRequest(request, envelope);
        records.push({ envelope, event: { type: "foreign", dialect: "engine", frame } });
        return { records, issues };
      }
      if (incoming === undefined) {
        // A frame that was refused must not change which request later ones belong to.
        current = previous;
        return { records: [], issues };
      }
      return { records: toRecords(incoming, request, issues), issues };
    },
  };
}

function hasMetadataField(metadata: JsonObject): boolean {
  return (
    metadata["request_id"] !== undefined || metadata["sequence"] !== undefined || metadata["timestamp"] !== undefined
  );
}

function createRequest(id: string | undefined, budget: ReplyBudget): Request {
  return {
    id,
    sessionId: undefined,
    started: false,
    ended: false,
    nextSequence: 0,
    toolNames: new BoundedMap(MAX_TOOLS),
    reply: new ReplyText(budget),
    legacyCalls: new LegacyCalls(),
  };
}

function envelopeOf({ id, sessionId }: Request, ts: number | undefined): Envelope {
  return {
    ...(sessionId === undefined ? {} : { session_id: sessionId }),
    ...(id === undefined ? {} : { run_id: id }),
    ...(ts === undefined ? {} : { ts }),
  };
}

/** Checks one frame; undefined when it was refused, "unknown" when nobody here knows its type. */
function readFrame(
  type: string,
  frame: JsonObject,
  metadata: JsonObject,
  request: Request,
  issues: Issue[],
): Incoming | "unknown" | undefined {
  const legacy = isLegacyType(type);
  const known = Object.hasOwn(ENGINE_FRAMES, type);
  if (!legacy && !known) {
    checkMetadata(type, metadata, request, issues);
    return "unknown";
  }
  const { type: _type, metadata: _metadata, ...beside } = frame;
  const flat = !isJsonObject(frame["data"]);
  const payload = flat ? beside : (frame["data"] as JsonObject);
  const bare = frame["metadata"] === undefined && (flat || legacy);
  if (legacy || flat) issues.push(raise("engine-legacy", `\`${type}\` is in the old form`));
  if (!bare && !isJsonObject(frame["metadata"])) issues.push(raise("engine-metadata", "`metadata` is missing"));
  else if (!bare) checkMetadata(type, metadata, request, issues);
  const { request_id } = metadata;
  if (type === "session_start" && typeof request_id === "string" && payload["request_id"] !== request_id) {
    issues.push(raise("engine-request-id", "`metadata.request_id` is another than `data.request_id`"));
  }
  const translated = translateLegacy(type, payload, request.legacyCalls);
  const data = translated?.data ?? (type === "error" && flat ? completeLegacyError(payload) : payload);
  const newType = translated?.type ?? (type as EngineFrameType);
  const hints: Hint[] = [];
  const { duration_ms } = metadata;
  const whole = {
    type: newType,
    data,
    metadata: { request_id: "", timestamp: 0, sequence: 0, ...(duration_ms == null ? {} : { duration_ms }) },
  };
  const fault = findEngineFrameFault(whole, hints);
  const { section } = ENGINE_FRAMES[newType];
  issues.push(...hints.map((hint) => issueOfHint(hint, section)));
  if (fault !== undefined) {
    issues.push(issueOfFault(fault, section));
    if (type === "tool_call") request.legacyCalls.end(data["tool_id"]);
    return undefined;
  }
  const original =
    translated === undefined && !flat
      ? collectExtra(frame, { ...ENGINE_FRAMES[newType].fields, type: TYPE_FIELD })
      : undefined;
  return {
    type: newType,
    data,
    extra: original,
    ts: isTimestamp(metadata["timestamp"]) ? metadata["timestamp"] : undefined,
    durationMs: typeof duration_ms === "number" ? duration_ms : undefined,
    replaces: translated?.replaces === true,
    legacy: legacy || flat,
  };
}

const TYPE_FIELD = {
  schema: { kind: "string" },
  required: true,
  additional: false,
  about: { en: "", zh: "" },
} as const;

function checkMetadata(type: string, metadata: JsonObject, request: Request, issues: Issue[]): void {
  const { request_id, timestamp, sequence } = metadata;
  if (typeof request_id !== "string" && (type !== "session_start" || request_id != null)) {
    issues.push(raise("engine-metadata", "`metadata.request_id` must be a string"));
  }
  if (!isTimestamp(timestamp))
    issues.push(raise("engine-metadata", "`metadata.timestamp` must be a number of milliseconds"));
  if (typeof sequence !== "number" || !Number.isSafeInteger(sequence) || sequence < 0) {
    issues.push(raise("engine-metadata", "`metadata.sequence` must be a whole number from 0"));
    return;
  }
  const expected = request.nextSequence;
  request.nextSequence = sequence + 1;
  if (sequence !== expected)
    issues.push(raise("engine-sequence", `\`metadata.sequence\` is ${sequence}, expected ${expected}`));
}

function isTimestamp(value: unknown): value is number {
  return typeof value === "number" && Number.isFinite(value);
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
  return [
    {
      envelope,
      event: { type: "run_start", ...(request.id === undefined ? {} : { run_id: request.id, request_id: request.id }) },
    },
  ];
}

function toRecords(incoming: Incoming, request: Request, issues: Issue[]): EventRecord[] {
  const frame = { type: incoming.type, data: incoming.data } as unknown as EngineFrame;
  if (frame.type === "session_start") {
    if (request.started && !request.ended)
      issues.push(raise("engine-start-once", "a second session_start for the same request"));
    else if (request.ended)
      issues.push(raise("engine-after-end", "session_start comes after the request's session_end"));
    request.sessionId = frame.data.session_id;
    request.started = false;
  } else checkOrder(request, incoming.type, issues, incoming.legacy);
  const envelope = withExtra(envelopeOf(request, incoming.ts), "engine", incoming.extra);
  const plain = envelopeOf(request, incoming.ts);
  if (frame.type === "session_start") return openRequest(request, envelope);
  const records = openRequest(request, plain);
  const add = (event: AnyEvent, at: Envelope = envelope) => records.push({ envelope: at, event });
  switch (frame.type) {
    case "thinking":
      add({ type: "reasoning_chunk", ...known(frame.data, "thinking") });
      break;
    case "content":
      if (incoming.replaces) request.reply.replace(frame.data.content);
      else {
        request.reply.add(frame.data.content);
        const { content, ...more } = known(frame.data, "content");
        add({ type: "message_chunk", content, id: NODE_NAME, ...more } as unknown as AnyEvent);
      }
      break;
    case "tool_call_start": {
      const { tool_id, tool_name, description, arguments: args } = frame.data;
      request.toolNames.set(tool_id, tool_name);
      add(
        {
          type: "tool_call",
          call_id: tool_id,
          name: tool_name,
          arguments: args,
          ...(description == null ? {} : { description }),
        },
        plain,
      );
      add({ type: "tool_start", call_id: tool_id, name: tool_name });
      break;
    }
    case "tool_call_progress": {
      const { tool_id, progress, message } = frame.data;
      const name = request.toolNames.get(tool_id);
      add({
        type: "tool_progress",
        call_id: tool_id,
        ...(name === undefined ? {} : { name }),
        progress,
        ...(message == null ? {} : { message }),
      });
      break;
    }
    case "tool_call_end":
      add(toolEnd(frame.data, request, incoming.durationMs, issues));
      break;
    case "data": {
      const event = dataEvent(frame.data);
      if (event.type === "tool_approval") {
        const { call_id, name } = event as EventOf<"tool_approval">;
        if (call_id !== undefined) request.toolNames.set(call_id, name);
      }
      add(event);
      break;
    }
    case "error":
      add({ type: "error", ...known(frame.data, "error") });
      break;
    case "session_end": {
      const { status, summary } = frame.data;
      request.ended = true;
      const completed = status === "completed";
      add({ type: "run_end", status, ...(summary == null ? {} : { summary }) }, completed ? plain : envelope);
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
  const schema = ENGINE_FRAMES[type].fields["data"]?.schema;
  const fields = schema?.kind === "object" ? schema.fields : {};
  return Object.fromEntries(
    Object.entries(data as JsonObject).filter(([name, value]) => value !== null && Object.hasOwn(fields, name)),
  );
}

function toolEnd(
  frame: ToolCallEndFrame["data"],
  request: Request,
  durationMs: number | undefined,
  issues: Issue[],
): AnyEvent {
  const { tool_id, status, result, error } = frame;
  const name = request.toolNames.get(tool_id) ?? "unknown";
  const timed = durationMs === undefined ? {} : { duration_ms: durationMs };
  if (status === "success") {
    if (error != null) issues.push(raise("engine-error-field", "`data.error` is only for tools that failed"));
    const { result: text, ...data } = splitResultObject(result ?? undefined);
    return { type: "tool_end", call_id: tool_id, name, result: text, is_error: false, ...data, ...timed };
  }
  if (error == null) issues.push(raise("engine-error-missing", "the tool failed and `data.error` does not say why"));
  return {
    type: "tool_end",
    call_id: tool_id,
    name,
    result: error?.message ?? "failed",
    is_error: true,
    ...(result == null ? {} : { output: splitOutputObject(result) }),
    ...(error?.code == null ? {} : { error_code: error.code }),
    ...timed,
  };
}

/** A block of data, or the event of ours that travelled as one. */
function dataEvent(data: JsonObject): AnyEvent {
  const inner = data["data_type"] === "custom" ? unwrapEvent(data["data"]) : undefined;
  if (inner !== undefined && CUSTOM_DATA_TYPES.has(inner.type) && findEventFault(inner) === undefined) return inner;
  const { data_type, data: body, metadata } = data;
  return {
    type: "data",
    data_type: data_type as Json,
    data: body as Json,
    ...(metadata == null ? {} : { metadata }),
  };
}
