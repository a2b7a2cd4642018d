/**
 * Decodes the frames of 004. A run starts with the first frame after `session_id` (that frame is sent when a socket
 * opens, before any request) and ends with `[DONE]`.
 */
import { BoundedMap } from "../../protocol/bounded-map.ts";
import type { Envelope } from "../../protocol/events.generated.ts";
import { type Json, type JsonObject, keepFields } from "../../protocol/json.ts";
import type { AnyEvent, EventRecord } from "../../protocol/record.ts";
import type { Issue } from "../../protocol/rules.ts";
import { createDoneDecoder, DONE } from "../client-decoder.ts";
import type { Decoder, Decoding } from "../dialect.ts";
import { dropMissing } from "../../protocol/drop-undefined.ts";
import { collectExtra, withExtra } from "../extra.ts";
import { checkFrame, confidenceByForm, createReporter, createTypedDecoder } from "../frame-decoder.ts";
import { readText } from "../frame-traits.ts";
import { isNextAttempt } from "../../protocol/record.ts";
import { ReplyText } from "../reply-text.ts";
import { DEFAULT_NODE_NAME, splitWholeResult } from "../tool-values.ts";
import {
  type ErrorFrame,
  findLumineFrameForm,
  type LumineFrame,
  type ToolResultFrame,
  type ToolUseFrame,
} from "./frames.generated.ts";
import { LUMINE_RULES } from "./rules.ts";

const report = /* @__PURE__ */ createReporter(LUMINE_RULES);
const MAX_TOOLS = 10_000;
/** The fields of all frames: the session_id frame has no others. */
const BASE_FIELDS: readonly string[] = [...(findLumineFrameForm("session_id")?.fields.keys() ?? [])];

export const LUMINE_DECODING: Decoding = {
  createDecoder: createLumineDecoder,
  confidence(frame) {
    return confidenceByForm(findLumineFrameForm(frame["type"]), frame, "role" in frame || "conversation_id" in frame);
  },
  traits: {
    // A socket belongs to one session until the next session_id frame. Other frames have the field too, but not
    // reliably.
    readSession: ({ type, session_id }, isFirst) =>
      type === "session_id" || isFirst ? readText(session_id) : undefined,
    unnamed: "current",
    endText: DONE,
  },
};

function createLumineDecoder(): Decoder {
  let sessionId: string | undefined;
  /** The current request: `greeted` after its `session_id` frame, `live` in its run, `over` after its [DONE]. */
  let state: "new" | "greeted" | "live" | "over" = "new";
  /** Extra fields of the `session_id` frame, for the first record of its run. */
  let greeting: JsonObject | undefined;
  /** The previous frame, if it is an error. Its record is `held` if it is only the reason of a run that [DONE] ends. */
  let lastError: { readonly frame: ErrorFrame; readonly held: readonly EventRecord[] } | undefined;
  const reply = new ReplyText({ held: 0 });
  /** Calls that wait for approval, with the arguments shown, so that `running` does not announce them again. */
  const waiting = new BoundedMap<string>(MAX_TOOLS);

  function plainEnvelope(): Envelope {
    return dropMissing({ session_id: sessionId });
  }

  function takeLastError(): typeof lastError {
    const taken = lastError;
    lastError = undefined;
    return taken;
  }

  /** Starts a run if none is active. */
  function begin(what: string, issues: Issue[]): EventRecord[] {
    if (state === "live") return [];
    if (state === "over") reportAfterDone(issues, what);
    if (state === "new") report(issues, "lumine-session-first", `the stream starts with ${what} instead of session_id`);
    state = "live";
    reply.clear();
    const envelope = withExtra(plainEnvelope(), "lumine", greeting);
    greeting = undefined;
    return [{ envelope, event: { type: "run_start" } }];
  }

  function end(status: string | null, extra: JsonObject | undefined, issues: Issue[]): readonly EventRecord[] {
    const outcome = outcomeOf(status, takeLastError()?.frame);
    state = "over";
    if (reply.overflowed) report(issues, "lumine-reply-limit", "the answer exceeds the limit; the reply is cut off");
    const plain = plainEnvelope();
    const last = withExtra(plain, "lumine", extra);
    const completed = outcome === "completed";
    const ended: EventRecord = { envelope: completed ? plain : last, event: { type: "run_end", status: outcome } };
    return completed ? [ended, { envelope: last, event: { type: "reply", reply: reply.toString() } }] : [ended];
  }

  function readFrame(raw: JsonObject, type: string, issues: Issue[]): readonly EventRecord[] {
    const missing = BASE_FIELDS.filter((name) => !Object.hasOwn(raw, name));
    if (missing.length > 0) report(issues, "lumine-base-fields", `missing fields: ${missing.join(", ")}`);
    const form = findLumineFrameForm(type);
    if (form === undefined)
      return toRecords({ type: "unknown", session_id: raw["session_id"], frame: raw }, {}, issues);
    // Missing base fields were reported above; the frame is still read if it has the fields of its type.
    const frame: { [name: string]: Json } = { ...raw };
    for (const name of missing) frame[name] = FILLERS[name] ?? null;
    if (!checkFrame(form, frame, issues)) return [];
    const ids = keepFields(raw, (name) => name === "id" || name === "conversation_id");
    return toRecords(frame as unknown as LumineFrame, { ...ids, ...collectExtra(raw, form.fields, "type") }, issues);
  }

  function toRecords(frame: AnyLumineFrame, extra: JsonObject, issues: Issue[]): readonly EventRecord[] {
    if (frame.type === "session_id") return greet(frame, extra, issues);
    checkSession(readText(frame.session_id), issues);
    const isEnd = frame.type === "chunk" && frame.content === DONE;
    // A request that has ended cannot end again, and a to-do list can change after it. Anything else begins a run.
    const isOutside = state === "over" && (isEnd || frame.type === "todo_update" || frame.type === "todo_list");
    if (isOutside) reportAfterDone(issues, frame.type);
    if (isOutside && isEnd) return [];
    const started = isOutside ? [] : begin(frame.type, issues);
    if (isEnd) return [...started, ...end(frame.status, extra, issues)];
    const held = takeLastError()?.held ?? [];
    return [...started, ...held, ...readEvents(frame, extra, issues)];
  }

  /** A `session_id` frame announces a request. */
  function greet({ session_id }: SessionFrame, extra: JsonObject, issues: Issue[]): readonly EventRecord[] {
    if (state === "live")
      report(issues, "lumine-new-request", "a session_id frame precedes the [DONE] of the previous request");
    // The previous request was not cancelled by [DONE], so its error is one.
    const held = takeLastError()?.held ?? [];
    state = "greeted";
    greeting = extra;
    sessionId = readText(session_id) ?? sessionId;
    return held;
  }

  function checkSession(named: string | undefined, issues: Issue[]): void {
    if (named !== undefined && sessionId !== undefined && named !== sessionId) {
      report(
        issues,
        "lumine-session-changed",
        `the stream belongs to session ${sessionId}, but this frame names ${named}`,
      );
    }
    sessionId ??= named;
  }

  /** Reads a frame other than `session_id` and [DONE]. */
  function readEvents(frame: EventFrame, extra: JsonObject, issues: Issue[]): readonly EventRecord[] {
    const records: EventRecord[] = [];
    const plain = plainEnvelope();
    const envelope = withExtra(plain, "lumine", extra);
    const add = (event: AnyEvent, at: Envelope = envelope) => records.push({ envelope: at, event });
    if (frame.type === "unknown") {
      add({ type: "foreign", dialect: "lumine", frame: frame.frame });
      return records;
    }
    const { type, content, status, tool_use_id: call_id, toolName: name } = frame;
    switch (type) {
      case "chunk":
        reply.add(content);
        add({ type: "message_chunk", content, id: DEFAULT_NODE_NAME });
        break;
      case "reasoning": {
        const done = status === "done";
        if (!done || content !== "") add({ type: "reasoning_chunk", content }, done ? plain : envelope);
        if (done) add({ type: "reasoning_end" });
        break;
      }
      case "tool_use":
        reply.mark();
        useTool(frame, add, plain);
        break;
      case "tool_result":
        reply.mark();
        // A waiting call that ends in an error without having run was rejected.
        if (waiting.delete(call_id) && status === "error")
          add({ type: "tool_approval_result", call_id, name, decision: "rejected" }, plain);
        add(toolEnd(frame, issues));
        break;
      case "todo_list": {
        const { list_id, title, items } = frame;
        add(dropMissing({ type, list_id, title, items }));
        break;
      }
      case "todo_update": {
        const { list_id, item_id, completed, text } = frame;
        add(dropMissing({ type, list_id, item_id, completed, text }));
        break;
      }
      case "image": {
        const { url, mediaType, alt } = frame;
        add(dropMissing({ type, url, media_type: mediaType, alt }));
        break;
      }
      case "error": {
        const code = readCode(frame.code);
        const attempt = readAttempt(frame, code);
        const event = dropMissing({ type, message: frame.detail ?? frame.error, code, ...attempt });
        const isHeld = code === "cancelled";
        lastError = { frame, held: isHeld ? [{ envelope, event }] : [] };
        if (!isHeld) add(event);
        if (attempt !== undefined) reply.rollBack();
        break;
      }
    }
    return records;
  }

  function useTool(frame: ToolUseFrame, add: (event: AnyEvent, at?: Envelope) => void, plain: Envelope): void {
    const { tool_use_id: call_id, toolName: name, args, status, code } = frame;
    const shown = waiting.get(call_id);
    // The call was refused; its result says so.
    if (shown !== undefined && code !== undefined) return;
    if (shown === undefined) add({ type: "tool_call", call_id, name, arguments: args }, plain);
    if (status === "awaiting_approval") {
      waiting.set(call_id, JSON.stringify(args));
      add({ type: "tool_approval", call_id, name, arguments: args });
      return;
    }
    if (shown !== undefined && shown !== JSON.stringify(args)) {
      add({ type: "tool_approval_result", call_id, name, decision: "approved", arguments: args }, plain);
    }
    waiting.delete(call_id);
    add({ type: "tool_start", call_id, name });
  }

  return createDoneDecoder(createTypedDecoder("frame", readFrame), (issues) => {
    report(issues, "lumine-bare-done", "[DONE] must be the content of a chunk frame");
    if (state === "over") {
      reportAfterDone(issues, DONE);
      return [];
    }
    return [...begin(DONE, issues), ...end(null, undefined, issues)];
  });
}

type AnyLumineFrame =
  | LumineFrame
  | { readonly type: "unknown"; readonly session_id: Json | undefined; readonly frame: JsonObject };

type SessionFrame = Extract<AnyLumineFrame, { readonly type: "session_id" }>;
type EventFrame = Exclude<AnyLumineFrame, SessionFrame>;

/** The fields of an error that announces another attempt. */
function readAttempt({ attempt }: ErrorFrame, code: string | undefined): JsonObject | undefined {
  return attempt !== undefined && isNextAttempt({ code, attempt }) ? { recoverable: true, attempt } : undefined;
}

/** Codes are in upper case on the wire. */
function readCode(code: string | undefined): string | undefined {
  return code !== undefined && /^[A-Z0-9_]+$/.test(code) ? code.toLowerCase() : code;
}

const FILLERS: JsonObject = { id: "", role: "assistant", session_id: "" };

function reportAfterDone(issues: Issue[], what: string): void {
  report(issues, "lumine-after-done", `${what} follows [DONE] without a session_id frame in between`);
}

/** A run did not complete if an error comes directly before [DONE]. Other senders may say it in the `status` of [DONE]. */
function outcomeOf(status: string | null, lastError: ErrorFrame | undefined): "completed" | "error" | "cancelled" {
  if (status === null) {
    if (lastError === undefined) return "completed";
    return readCode(lastError.code) === "cancelled" ? "cancelled" : "error";
  }
  return status === "completed" || status === "cancelled" ? status : "error";
}

function toolEnd(frame: ToolResultFrame, issues: Issue[]): AnyEvent {
  const { tool_use_id: call_id, toolName: name, result, status, error, detail, code } = frame;
  if (status === "completed") {
    const { result: text, ...data } = splitWholeResult(result);
    return { type: "tool_end", call_id, name, result: text, is_error: false, ...data };
  }
  if (error === null) report(issues, "lumine-error-null", "the tool failed, but `error` is null");
  const said = { result: detail ?? error ?? "failed", is_error: true, output: result, error_code: readCode(code) };
  return dropMissing({ type: "tool_end", call_id, name, ...said });
}
