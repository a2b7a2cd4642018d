/**
 * Reads the StreamEvents and callback payloads of 002, one request at a time.
 */
import {
  type AnyEvent,
  BoundedMap,
  createRaise,
  type Envelope,
  type EventRecord,
  type Hint,
  type Issue,
  isJsonObject,
  type Json,
  type JsonObject,
} from "../../protocol/index.ts";
import type { Decoded, Decoder } from "../dialect.ts";
import { withExtra } from "../extra.ts";
import { issueOfFault, issueOfHint, issueOfKind, parseFrame } from "../parse-frame.ts";
import { NODE_NAME } from "../tool-values.ts";
import { findStreamEventFrameFault, type StreamEventFrame } from "./frames.generated.ts";
import { STREAM_EVENT_FRAMES, type StreamEventFrameType } from "./frames.ts";
import { STREAM_EVENT_RULES } from "./rules.ts";

const raise = createRaise(STREAM_EVENT_RULES);
const MAX_TOOLS = 10_000;

interface Request {
  id: string | undefined;
  source: string | undefined;
  live: boolean;
  finished: boolean;
  /** Text was streamed. */
  spoke: boolean;
  lastTs: number;
  readonly toolNames: BoundedMap<string>;
  /** Names of calls without an id, oldest first: a result without one answers the oldest. */
  readonly namelessCalls: string[];
}

export function createStreamEventDecoder(): Decoder {
  const request: Request = {
    id: undefined,
    source: undefined,
    live: false,
    finished: false,
    spoke: false,
    lastTs: 0,
    toolNames: new BoundedMap(MAX_TOOLS),
    namelessCalls: [],
  };
  return {
    decode(text): Decoded {
      const parsed = parseFrame(text);
      if (!parsed.ok) return { records: [], issues: [parsed.issue] };
      const issues: Issue[] = [];
      const { type } = parsed.frame;
      if (typeof type !== "string") return { records: [], issues: [issueOfKind("the event has no `type`")] };
      if (!Object.hasOwn(STREAM_EVENT_FRAMES, type)) {
        const records = begin(request, parsed.frame, issues);
        records.push({
          envelope: envelopeOf(request, undefined),
          event: { type: "foreign", dialect: "stream-event", frame: parsed.frame },
        });
        return { records, issues };
      }
      const lifted = liftMetadata(type as StreamEventFrameType, parsed.frame);
      const hints: Hint[] = [];
      const fault = findStreamEventFrameFault(lifted, hints);
      issues.push(...hints.map((hint) => issueOfHint(hint, "002")));
      if (fault !== undefined) return { records: [], issues: [...issues, issueOfFault(fault, "002")] };
      return { records: toRecords(lifted as unknown as StreamEventFrame, parsed.frame, request, issues), issues };
    },
  };
}

const COMMON = new Set(["type", "ts", "source", "iteration", "request_id", "metadata"]);

/** The event's own fields may stand in `metadata` instead of at top level. */
function liftMetadata(type: StreamEventFrameType, frame: JsonObject): JsonObject {
  const { metadata } = frame;
  if (!isJsonObject(metadata)) return frame;
  const own = Object.keys(STREAM_EVENT_FRAMES[type].fields).filter((name) => !COMMON.has(name));
  const missing = own.filter((name) => frame[name] === undefined && metadata[name] !== undefined);
  if (missing.length === 0) return frame;
  return { ...frame, ...Object.fromEntries(missing.map((name) => [name, metadata[name] as Json])) };
}

/** What has no field of ours: the round, unknown fields, and what else `metadata` holds. */
function extraOfFrame(frame: JsonObject): JsonObject | undefined {
  const { fields } = STREAM_EVENT_FRAMES[frame["type"] as StreamEventFrameType];
  const { metadata } = frame;
  const kept = Object.entries(frame).filter(
    ([name]) => name === "iteration" || (name !== "type" && !Object.hasOwn(fields, name)),
  );
  if (isJsonObject(metadata)) {
    const more = Object.entries(metadata).filter(([name]) => COMMON.has(name) || !Object.hasOwn(fields, name));
    if (more.length > 0) kept.push(["metadata", Object.fromEntries(more)]);
  }
  return kept.length === 0 ? undefined : Object.fromEntries(kept);
}

function envelopeOf({ id }: Request, ts: number | undefined): Envelope {
  return {
    ...(id === undefined ? {} : { run_id: id }),
    ...(ts === undefined ? {} : { ts: toMilliseconds(ts) }),
  };
}

/** Seconds to milliseconds, to the microsecond; a time beyond all calendars is kept within what a number can hold. */
function toMilliseconds(seconds: number): number {
  const exact = Math.round(seconds * 1_000_000) / 1000;
  return Number.isFinite(exact) ? exact : Number.MAX_SAFE_INTEGER * Math.sign(seconds);
}

function begin(request: Request, frame: JsonObject, issues: Issue[]): EventRecord[] {
  const { type, request_id, source, ts } = frame;
  if (request.live) return [];
  if (request.finished) issues.push(raise("after-agent-finish", `\`${type as string}\` comes after agent_finish`));
  else
    issues.push(raise("request-start-first", `the stream begins with \`${type as string}\`, not with request_start`));
  request.live = true;
  request.id = typeof request_id === "string" ? request_id : undefined;
  request.source = typeof source === "string" ? source : undefined;
  return [
    { envelope: envelopeOf(request, typeof ts === "number" ? ts : undefined), event: startEvent(request, undefined) },
  ];
}

/** 002 announces calls without arguments; who sends them all the same should not lose them. */
function argumentsOf(more: object): JsonObject {
  const { arguments: given } = more as { readonly arguments?: unknown };
  return isJsonObject(given) ? given : {};
}

function startEvent({ id, source }: Request, message: string | undefined): AnyEvent {
  return {
    type: "run_start",
    ...(id === undefined ? {} : { run_id: id, request_id: id }),
    ...(message === undefined ? {} : { message }),
    ...(source === "execute" || source === "stream" ? { source } : {}),
  };
}

function toRecords(frame: StreamEventFrame, raw: JsonObject, request: Request, issues: Issue[]): EventRecord[] {
  const extra = extraOfFrame(raw);
  if (frame.type === "request_start") {
    if (request.live) issues.push(raise("request-start-early", "a request begins before the last one's agent_finish"));
    request.live = true;
    request.finished = false;
    request.spoke = false;
    request.id = frame.request_id ?? undefined;
    request.source = frame.source;
    request.lastTs = frame.ts;
    return [
      {
        envelope: withExtra(envelopeOf(request, frame.ts), "stream-event", extra),
        event: startEvent(request, frame.input),
      },
    ];
  }
  const records = begin(request, raw, issues);
  if (request.source === undefined) request.source = frame.source;
  else if (request.source !== frame.source) {
    issues.push(raise("source-changed", `\`source\` was ${request.source} and is now ${frame.source}`));
    request.source = frame.source;
  }
  if (frame.request_id != null && frame.request_id !== request.id) {
    if (request.id !== undefined)
      issues.push(raise("request-id-changed", `the request is ${request.id}, the event says ${frame.request_id}`));
    else request.id = frame.request_id;
  }
  if (frame.ts < request.lastTs) issues.push(raise("ts-backwards", `\`ts\` ${frame.ts} is before ${request.lastTs}`));
  request.lastTs = frame.ts;
  const plain = envelopeOf(request, frame.ts);
  const envelope = withExtra(plain, "stream-event", extra);
  const add = (event: AnyEvent, at: Envelope = envelope) => records.push({ envelope: at, event });
  switch (frame.type) {
    case "retrieval_complete":
      add({ type: "retrieval_complete", doc_count: frame.doc_count });
      break;
    case "compression_applied":
      add({ type: "compression_applied", before_tokens: frame.before_tokens, after_tokens: frame.after_tokens });
      break;
    case "tool_calls_start":
      for (const [index, { id, name, ...more }] of frame.tool_calls.entries()) {
        if (id !== "") request.toolNames.set(id, name);
        else if (request.namelessCalls.length < MAX_TOOLS) request.namelessCalls.push(name);
        add(
          { type: "tool_call", ...(id === "" ? {} : { call_id: id }), name, arguments: argumentsOf(more) },
          index === 0 ? envelope : plain,
        );
      }
      break;
    case "tool_result": {
      const { tool_call_id: id, content } = frame;
      const name = (id === "" ? request.namelessCalls.shift() : request.toolNames.get(id)) ?? "unknown";
      add({ type: "tool_end", ...(id === "" ? {} : { call_id: id }), name, result: content, is_error: false });
      break;
    }
    case "text_delta":
      request.spoke = true;
      add({ type: "message_chunk", content: frame.content, id: NODE_NAME });
      break;
    case "error":
      add({ type: "error", message: frame.message, stage: frame.stage });
      break;
    case "agent_finish": {
      const status = frame.status ?? "completed";
      request.live = false;
      request.finished = true;
      // An answer that was cut short was perhaps not streamed; it is kept.
      if (status !== "completed" && frame.content !== "" && !request.spoke) {
        add({ type: "message_chunk", content: frame.content, id: NODE_NAME }, plain);
      }
      add({ type: "run_end", status }, status === "completed" ? plain : envelope);
      if (status === "completed") add({ type: "reply", reply: frame.content });
      break;
    }
  }
  return records;
}
