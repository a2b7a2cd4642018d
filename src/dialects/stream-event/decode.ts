/** Decodes the stream events and callback payloads of 002, one request at a time. */
import { BoundedMap } from "../../protocol/bounded-map.ts";
import type { FormFields } from "../../protocol/form.ts";
import type { Envelope } from "../../protocol/events.generated.ts";
import { type Json, type JsonObject, keepFields, toJsonObject } from "../../protocol/json.ts";
import type { AnyEvent, EventRecord } from "../../protocol/record.ts";
import type { Issue } from "../../protocol/rules.ts";
import type { Decoder, Decoding } from "../dialect.ts";
import { dropMissing } from "../../protocol/drop-undefined.ts";
import { withExtra } from "../extra.ts";
import { checkFrame, confidenceByForm, createReporter, createTypedDecoder } from "../frame-decoder.ts";
import { PLAIN_FRAMES, readText } from "../frame-traits.ts";
import { DEFAULT_NODE_NAME } from "../tool-values.ts";
import {
  type ErrorFrame,
  findStreamEventFrameForm,
  type StreamEventFrame,
  type ToolCallsStartFrame,
} from "./frames.generated.ts";
import { STREAM_EVENT_RULES } from "./rules.ts";

const report = /* @__PURE__ */ createReporter(STREAM_EVENT_RULES);
const MAX_TOOLS = 10_000;

type AnnouncedCall = ToolCallsStartFrame["tool_calls"][number] & { readonly arguments?: Json };

export const STREAM_EVENT_DECODING: Decoding = {
  createDecoder: createStreamEventDecoder,
  confidence(frame) {
    const { type, ts, source } = frame;
    return confidenceByForm(
      findStreamEventFrameForm(type),
      frame,
      typeof ts === "number" || typeof source === "string",
    );
  },
  traits: PLAIN_FRAMES,
};

function createStreamEventDecoder(): Decoder {
  let id: string | undefined;
  let source: string | undefined;
  let live = false;
  let finished = false;
  /** True once answer text was streamed. */
  let spoke = false;
  let lastTs = 0;
  const toolNames = new BoundedMap<string>(MAX_TOOLS);
  /** Tool names of calls without an ID, oldest first. A result without an ID belongs to the oldest. */
  const namelessCalls: string[] = [];

  function envelopeAt(ts?: Json): Envelope {
    return dropMissing({ run_id: id, ts: typeof ts === "number" ? toMilliseconds(ts) : undefined });
  }

  function start(envelope: Envelope, message?: string): EventRecord[] {
    const path = source === "execute" || source === "stream" ? source : undefined;
    return [{ envelope, event: dropMissing({ type: "run_start", run_id: id, request_id: id, message, source: path }) }];
  }

  /** Starts a run if none is active. */
  function begin(frame: JsonObject, type: string, issues: Issue[]): EventRecord[] {
    if (live) return [];
    if (finished) report(issues, "after-agent-finish", `\`${type}\` follows agent_finish`);
    else report(issues, "request-start-first", `the stream starts with \`${type}\` instead of request_start`);
    live = true;
    id = readText(frame["request_id"]);
    source = readText(frame["source"]);
    return start(envelopeAt(frame["ts"]));
  }

  function toRecords(frame: StreamEventFrame, extra: JsonObject, raw: JsonObject, issues: Issue[]): EventRecord[] {
    const { type, ts, source: from, request_id: named } = frame;
    if (type === "request_start") {
      if (live) report(issues, "request-start-early", "a request starts before the agent_finish of the previous one");
      live = true;
      finished = false;
      spoke = false;
      id = named ?? undefined;
      source = from;
      lastTs = ts;
      return start(withExtra(envelopeAt(ts), "stream-event", extra), frame.input);
    }
    const records = begin(raw, type, issues);
    if (source !== undefined && source !== from)
      report(issues, "source-changed", `\`source\` changes from ${source} to ${from}`);
    source = from;
    id ??= named;
    if (named != null && named !== id)
      report(issues, "request-id-changed", `the request is ${id}, but this event has ${named}`);
    if (ts < lastTs) report(issues, "ts-backwards", `\`ts\` ${ts} is earlier than ${lastTs}`);
    lastTs = ts;
    const plain = envelopeAt(ts);
    const envelope = withExtra(plain, "stream-event", extra);
    const add = (event: AnyEvent, at: Envelope = envelope) => records.push({ envelope: at, event });
    switch (type) {
      case "retrieval_complete":
        add({ type, doc_count: frame.doc_count });
        break;
      case "compression_applied":
        add({ type, before_tokens: frame.before_tokens, after_tokens: frame.after_tokens });
        break;
      case "tool_calls_start":
        for (const [index, announced] of frame.tool_calls.entries()) {
          // 002 announces calls without arguments; keep them if a sender includes them.
          const { id: call, name, arguments: args }: AnnouncedCall = announced;
          if (call !== "") toolNames.set(call, name);
          else if (namelessCalls.length < MAX_TOOLS) namelessCalls.push(name);
          const event = { type: "tool_call", call_id: call || null, name, arguments: toJsonObject(args) };
          add(dropMissing(event), index === 0 ? envelope : plain);
        }
        break;
      case "tool_result": {
        const { tool_call_id: call, content: result } = frame;
        const name = (call === "" ? namelessCalls.shift() : toolNames.get(call)) ?? "unknown";
        add(dropMissing({ type: "tool_end", call_id: call || null, name, result, is_error: false }));
        break;
      }
      case "text_delta":
        spoke = true;
        add({ type: "message_chunk", content: frame.content, id: DEFAULT_NODE_NAME });
        break;
      case "error":
        add({ type, message: frame.message, stage: frame.stage, ...readAttempt(frame) });
        break;
      case "agent_finish": {
        const { content } = frame;
        const status = frame.status ?? "completed";
        const completed = status === "completed";
        live = false;
        finished = true;
        // The text of an unfinished answer may not have been streamed; keep it.
        if (!completed && content !== "" && !spoke)
          add({ type: "message_chunk", content, id: DEFAULT_NODE_NAME }, plain);
        add({ type: "run_end", status }, completed ? plain : envelope);
        if (completed) add({ type: "reply", reply: content });
        break;
      }
    }
    return records;
  }

  return createTypedDecoder("event", (frame, type, issues) => {
    const form = findStreamEventFrameForm(type);
    if (form === undefined) {
      const records = begin(frame, type, issues);
      records.push({ envelope: envelopeAt(), event: { type: "foreign", dialect: "stream-event", frame } });
      return records;
    }
    const lifted = liftMetadata(frame, form.fields);
    if (!checkFrame(form, lifted, issues)) return [];
    return toRecords(lifted as unknown as StreamEventFrame, extraOfFrame(frame, form.fields), frame, issues);
  });
}

function readAttempt({ stage, attempt }: ErrorFrame): JsonObject {
  return stage === "interrupted" && attempt !== undefined ? { code: stage, recoverable: true, attempt } : {};
}

const COMMON = ["ts", "source", "iteration", "request_id", "metadata"];

/** Fields of the event may be in `metadata` instead of at the top level. */
function liftMetadata(frame: JsonObject, fields: FormFields): JsonObject {
  return { ...keepFields(toJsonObject(frame["metadata"]), (name) => isOwn(name, fields)), ...frame };
}

function isOwn(name: string, fields: FormFields): boolean {
  return fields.has(name) && !COMMON.includes(name);
}

/** Collects what has no event field: the iteration, unknown fields and other metadata. */
function extraOfFrame(frame: JsonObject, fields: FormFields): JsonObject {
  const more = keepFields(toJsonObject(frame["metadata"]), (name) => !isOwn(name, fields));
  return {
    ...keepFields(frame, (name) => name === "iteration" || (name !== "type" && !fields.has(name))),
    ...(Object.keys(more).length > 0 ? { metadata: more } : {}),
  };
}

/** Converts seconds to milliseconds, rounded to microseconds. Times beyond the range of numbers are limited. */
function toMilliseconds(seconds: number): number {
  const exact = Math.round(seconds * 1_000_000) / 1000;
  return Number.isFinite(exact) ? exact : Number.MAX_SAFE_INTEGER * Math.sign(seconds);
}
