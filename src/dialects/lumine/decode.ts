/**
 * Reads the frames of 004. A run begins with the first frame after `session_id` (the frame itself only greets: a socket
 * sends it before anyone has asked) and ends with `[DONE]`.
 */
import { BoundedMap } from "../../protocol/bounded-map.ts";
import type { Envelope } from "../../protocol/index.ts";
import type { Json, JsonObject } from "../../protocol/json.ts";
import type { AnyEvent, EventRecord } from "../../protocol/record.ts";
import { createRaise, type Issue } from "../../protocol/rules.ts";
import type { Decoder, Decoding } from "../dialect.ts";
import { dropMissing } from "../drop-missing.ts";
import { collectExtra, withExtra } from "../extra.ts";
import { checkFrame, claimByForm, createTypedDecoder } from "../frame-decoder.ts";
import { ReplyText } from "../reply-text.ts";
import { NODE_NAME, splitResult } from "../tool-values.ts";
import { findLumineFrameForm, type LumineFrame, type ToolResultFrame, type ToolUseFrame } from "./frames.generated.ts";
import { LUMINE_GRADES } from "./rules.generated.ts";

const raise = /* @__PURE__ */ createRaise(LUMINE_GRADES);
const MAX_TOOLS = 10_000;
/** The text of the chunk that ends a request. */
export const DONE = "[DONE]";

export const LUMINE_DECODING: Decoding = {
  createDecoder: createLumineDecoder,
  claim(frame) {
    return claimByForm(findLumineFrameForm(frame["type"]), frame, "role" in frame || "conversation_id" in frame);
  },
};

function createLumineDecoder(): Decoder {
  let sessionId: string | undefined;
  /** What came with a session_id frame since the last [DONE]. */
  let greeting: JsonObject | undefined;
  let live = false;
  let everDone = false;
  let lastWasError = false;
  const reply = new ReplyText({ held: 0 });
  /** Calls that wait for consent, with the arguments shown: `running` must not announce them twice. */
  const waiting = new BoundedMap<string>(MAX_TOOLS);

  function plainEnvelope(): Envelope {
    return dropMissing({ session_id: sessionId });
  }

  /** Opens the run if none is open. */
  function begin(what: string, issues: Issue[]): EventRecord[] {
    if (live) return [];
    if (greeting === undefined) {
      issues.push(
        everDone
          ? raiseAfterDone(what)
          : raise("lumine-session-first", `the stream begins with ${what}, not with session_id`),
      );
    }
    live = true;
    lastWasError = false;
    reply.clear();
    const envelope = withExtra(plainEnvelope(), "lumine", greeting);
    greeting = undefined;
    return [{ envelope, event: { type: "run_start" } }];
  }

  /** The last request has ended, and no other was greeted. */
  function isOver(): boolean {
    return everDone && !live && greeting === undefined;
  }

  function end(status: string | null, extra: JsonObject | undefined, records: EventRecord[], issues: Issue[]): void {
    const outcome = outcomeOf(status, lastWasError);
    live = false;
    everDone = true;
    if (reply.overflowed)
      issues.push(raise("lumine-reply-limit", "the answer is longer than the limit; its reply is cut"));
    const plain = plainEnvelope();
    const last = withExtra(plain, "lumine", extra);
    const completed = outcome === "completed";
    records.push({ envelope: completed ? plain : last, event: { type: "run_end", status: outcome } });
    if (completed) records.push({ envelope: last, event: { type: "reply", reply: reply.toString() } });
  }

  function readFrame(raw: JsonObject, type: string, issues: Issue[]): EventRecord[] {
    // The frame of a session has the base fields alone.
    const base = findLumineFrameForm("session_id")?.fields.keys() ?? [];
    const missing = [...base].filter((name) => !Object.hasOwn(raw, name));
    if (missing.length > 0) issues.push(raise("lumine-base-fields", `missing: ${missing.join(", ")}`));
    const form = findLumineFrameForm(type);
    if (form === undefined)
      return toRecords({ type: "unknown", session_id: raw["session_id"], frame: raw }, {}, issues);
    // What is missing was reported; a frame that has what its type needs is still read.
    const frame: { [name: string]: Json } = { ...raw };
    for (const name of missing) frame[name] = FILLERS[name] ?? null;
    if (!checkFrame(form, frame, issues)) return [];
    const ids: { [name: string]: Json } = {};
    for (const name of ["id", "conversation_id"]) if (raw[name] !== undefined) ids[name] = raw[name];
    const extra = { ...ids, ...collectExtra(raw, form.fields, "type") };
    return toRecords(frame as unknown as LumineFrame, extra, issues);
  }

  function toRecords(frame: Incoming, extra: JsonObject, issues: Issue[]): EventRecord[] {
    if (frame.type === "session_id") {
      if (live) issues.push(raise("lumine-new-request", "a session_id frame before the last request's [DONE]"));
      live = false;
      greeting = extra;
      if (frame.session_id !== "") sessionId = frame.session_id;
      return [];
    }
    const { session_id: named } = frame;
    if (typeof named === "string" && named !== "") {
      if (sessionId !== undefined && named !== sessionId) {
        issues.push(raise("lumine-session-changed", `the stream is of session ${sessionId}, the frame of ${named}`));
      }
      sessionId ??= named;
    }
    const isEnd = frame.type === "chunk" && frame.content === DONE;
    const outside = isOver() && (isEnd || frame.type === "todo_update" || frame.type === "todo_list");
    if (outside) issues.push(raiseAfterDone(frame.type));
    // What has ended cannot end again.
    if (outside && isEnd) return [];
    const records = outside ? [] : begin(frame.type, issues);
    const plain = plainEnvelope();
    const envelope = withExtra(plain, "lumine", extra);
    const add = (event: AnyEvent, at: Envelope = envelope) => records.push({ envelope: at, event });
    const wasError = lastWasError;
    lastWasError = frame.type === "error";
    if (frame.type === "unknown") {
      add({ type: "foreign", dialect: "lumine", frame: frame.frame });
      return records;
    }
    const { type, content, status, tool_use_id: call_id, toolName: name } = frame;
    switch (type) {
      case "chunk":
        if (content === DONE) {
          lastWasError = wasError;
          end(status, extra, records, issues);
          break;
        }
        reply.add(content);
        add({ type: "message_chunk", content, id: NODE_NAME });
        break;
      case "reasoning": {
        const done = status === "done";
        if (!done || content !== "") add({ type: "reasoning_chunk", content }, done ? plain : envelope);
        if (done) add({ type: "reasoning_end" });
        break;
      }
      case "tool_use":
        useTool(frame, add, plain);
        break;
      case "tool_result":
        // A call that waited and ends in error without having run was refused.
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
      case "error":
        add(dropMissing({ type, message: frame.error, code: frame.code }));
        break;
    }
    return records;
  }

  function useTool(frame: ToolUseFrame, add: (event: AnyEvent, at?: Envelope) => void, plain: Envelope): void {
    const { tool_use_id: call_id, toolName: name, args, status } = frame;
    const shown = waiting.get(call_id);
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

  const frames = createTypedDecoder("frame", readFrame);
  return {
    decode(text, given) {
      if (given !== undefined || text.trim() !== DONE) return frames.decode(text, given);
      const issues = [raise("lumine-bare-done", "the end mark must be a chunk frame whose content is [DONE]")];
      if (isOver()) return { records: [], issues: [...issues, raiseAfterDone(DONE)] };
      const records = begin(DONE, issues);
      end(null, undefined, records, issues);
      return { records, issues };
    },
  };
}

type Incoming =
  | LumineFrame
  | { readonly type: "unknown"; readonly session_id: Json | undefined; readonly frame: JsonObject };

const FILLERS: JsonObject = { id: "", role: "assistant", session_id: "" };

function raiseAfterDone(what: string): Issue {
  return raise("lumine-after-done", `${what} comes after [DONE], with no session_id frame between`);
}

/** [DONE] may say how the run ended; where it does not, an error right before it does. */
function outcomeOf(status: string | null, lastWasError: boolean): "completed" | "error" | "cancelled" {
  if (status === null) return lastWasError ? "error" : "completed";
  return status === "completed" || status === "cancelled" ? status : "error";
}

function toolEnd(frame: ToolResultFrame, issues: Issue[]): AnyEvent {
  const { tool_use_id: call_id, toolName: name, result, status, error, code } = frame;
  if (status === "completed") {
    const { result: text, ...data } = splitResult(result);
    return { type: "tool_end", call_id, name, result: text, is_error: false, ...data };
  }
  if (error === null) issues.push(raise("lumine-error-null", "the tool failed and `error` is null"));
  const said = { result: error ?? "failed", is_error: true, output: result, error_code: code };
  return dropMissing({ type: "tool_end", call_id, name, ...said });
}
