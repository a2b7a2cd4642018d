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
  /** Extra fields of the `session_id` frame received since the last [DONE]. */
  let greeting: JsonObject | undefined;
  let live = false;
  let everDone = false;
  /** The previous frame, if it is an error. */
  let lastError: ErrorFrame | undefined;
  /** An error that is only the reason of a cancelled run if [DONE] follows. */
  let heldError: EventRecord | undefined;
  const reply = new ReplyText({ held: 0 });
  /** Calls that wait for approval, with the arguments shown, so that `running` does not announce them again. */
  const waiting = new BoundedMap<string>(MAX_TOOLS);

  function plainEnvelope(): Envelope {
    return dropMissing({ session_id: sessionId });
  }

  /** Starts a run if none is active. */
  function begin(what: string, issues: Issue[]): EventRecord[] {
    if (live) return [];
    if (greeting === undefined) {
      if (everDone) reportAfterDone(issues, what);
      else report(issues, "lumine-session-first", `the stream starts with ${what} instead of session_id`);
    }
    live = true;
    lastError = undefined;
    heldError = undefined;
    reply.clear();
    const envelope = withExtra(plainEnvelope(), "lumine", greeting);
    greeting = undefined;
    return [{ envelope, event: { type: "run_start" } }];
  }

  /** True if the last request ended and no `session_id` frame followed. */
  function isOver(): boolean {
    return everDone && !live && greeting === undefined;
  }

  function end(status: string | null, extra: JsonObject | undefined, records: EventRecord[], issues: Issue[]): void {
    const outcome = outcomeOf(status, lastError);
    live = false;
    everDone = true;
    if (reply.overflowed) report(issues, "lumine-reply-limit", "the answer exceeds the limit; the reply is cut off");
    const plain = plainEnvelope();
    const last = withExtra(plain, "lumine", extra);
    const completed = outcome === "completed";
    records.push({ envelope: completed ? plain : last, event: { type: "run_end", status: outcome } });
    if (completed) records.push({ envelope: last, event: { type: "reply", reply: reply.toString() } });
  }

  function readFrame(raw: JsonObject, type: string, issues: Issue[]): EventRecord[] {
    // The session_id frame has only the base fields.
    const base = findLumineFrameForm("session_id")?.fields.keys() ?? [];
    const missing = [...base].filter((name) => !Object.hasOwn(raw, name));
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

  function toRecords(frame: AnyLumineFrame, extra: JsonObject, issues: Issue[]): EventRecord[] {
    if (frame.type === "session_id") {
      if (live) report(issues, "lumine-new-request", "a session_id frame precedes the [DONE] of the previous request");
      live = false;
      greeting = extra;
      sessionId = readText(frame.session_id) ?? sessionId;
      return [];
    }
    const named = readText(frame.session_id);
    if (named !== undefined) {
      if (sessionId !== undefined && named !== sessionId) {
        report(
          issues,
          "lumine-session-changed",
          `the stream belongs to session ${sessionId}, but this frame names ${named}`,
        );
      }
      sessionId ??= named;
    }
    const isEnd = frame.type === "chunk" && frame.content === DONE;
    const outside = isOver() && (isEnd || frame.type === "todo_update" || frame.type === "todo_list");
    if (outside) reportAfterDone(issues, frame.type);
    // A request that has ended cannot end again.
    if (outside && isEnd) return [];
    const records = outside ? [] : begin(frame.type, issues);
    const plain = plainEnvelope();
    const envelope = withExtra(plain, "lumine", extra);
    const add = (event: AnyEvent, at: Envelope = envelope) => records.push({ envelope: at, event });
    if (heldError !== undefined && !isEnd) records.push(heldError);
    heldError = undefined;
    if (!isEnd) lastError = frame.type === "error" ? frame : undefined;
    if (frame.type === "unknown") {
      add({ type: "foreign", dialect: "lumine", frame: frame.frame });
      return records;
    }
    const { type, content, status, tool_use_id: call_id, toolName: name } = frame;
    switch (type) {
      case "chunk":
        if (content === DONE) {
          end(status, extra, records, issues);
          break;
        }
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
        if (code === "cancelled") heldError = { envelope, event };
        else add(event);
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
    if (isOver()) {
      reportAfterDone(issues, DONE);
      return [];
    }
    const records = begin(DONE, issues);
    end(null, undefined, records, issues);
    return records;
  });
}

type AnyLumineFrame =
  | LumineFrame
  | { readonly type: "unknown"; readonly session_id: Json | undefined; readonly frame: JsonObject };

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
