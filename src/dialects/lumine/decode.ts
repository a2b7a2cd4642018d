/**
 * Reads the frames of 004. A run begins with the first frame after `session_id` (the frame itself only greets: a socket
 * sends it before anyone has asked) and ends with `[DONE]`.
 */
import {
  type AnyEvent,
  BoundedMap,
  createRaise,
  type Envelope,
  type EventRecord,
  type Hint,
  type Issue,
  type JsonObject,
} from "../../protocol/index.ts";
import type { Decoded, Decoder } from "../dialect.ts";
import { collectExtra, withExtra } from "../extra.ts";
import { issueOfFault, issueOfHint, issueOfKind, parseFrame } from "../parse-frame.ts";
import { ReplyText } from "../reply-text.ts";
import { NODE_NAME, splitResult } from "../tool-values.ts";
import { DONE } from "./encode.ts";
import { findLumineFrameFault, type LumineFrame, type ToolResultFrame, type ToolUseFrame } from "./frames.generated.ts";
import { BASE_FIELDS, LUMINE_FRAMES, type LumineFrameType } from "./frames.ts";
import { LUMINE_RULES } from "./rules.ts";

const raise = createRaise(LUMINE_RULES);
const MAX_TOOLS = 10_000;

interface Conversation {
  sessionId: string | undefined;
  /** A session_id frame came since the last [DONE]. */
  greeted: boolean;
  greeting: JsonObject | undefined;
  live: boolean;
  everDone: boolean;
  lastWasError: boolean;
  reply: ReplyText;
  /** Calls that wait for consent, with the arguments shown: `running` must not announce them twice. */
  waiting: BoundedMap<string>;
}

export function createLumineDecoder(): Decoder {
  const state: Conversation = {
    sessionId: undefined,
    greeted: false,
    greeting: undefined,
    live: false,
    everDone: false,
    lastWasError: false,
    reply: new ReplyText({ held: 0 }),
    waiting: new BoundedMap(MAX_TOOLS),
  };
  return {
    decode(text): Decoded {
      if (text.trim() === DONE) {
        const issues = [raise("lumine-bare-done", "the end mark must be a chunk frame whose content is [DONE]")];
        const records = begin(state, "[DONE]", issues);
        return { records: [...records, ...end(state, null, undefined, issues)], issues };
      }
      const parsed = parseFrame(text);
      if (!parsed.ok) return { records: [], issues: [parsed.issue] };
      const issues: Issue[] = [];
      const frame = readFrame(parsed.frame, issues);
      if (frame === undefined) return { records: [], issues };
      return { records: toRecords(frame.frame, frame.extra, state, issues), issues };
    },
  };
}

interface Incoming {
  readonly frame: LumineFrame | { readonly type: "unknown"; readonly frame: JsonObject };
  readonly extra: JsonObject;
}

function readFrame(raw: JsonObject, issues: Issue[]): Incoming | undefined {
  const { type } = raw;
  if (typeof type !== "string") {
    issues.push(issueOfKind("the frame has no `type`"));
    return undefined;
  }
  const missing = BASE_FIELDS.filter((name) => !Object.hasOwn(raw, name));
  if (missing.length > 0) issues.push(raise("lumine-base-fields", `missing: ${missing.join(", ")}`));
  if (!Object.hasOwn(LUMINE_FRAMES, type)) return { frame: { type: "unknown", frame: raw }, extra: {} };
  const { fields, section } = LUMINE_FRAMES[type as LumineFrameType];
  // What is missing was reported; a frame that has what its type needs is still read.
  const filler = Object.fromEntries(missing.map((name) => [name, FILLERS[name] ?? null]));
  const frame = { ...raw, ...filler };
  const hints: Hint[] = [];
  const fault = findLumineFrameFault(frame, hints);
  issues.push(...hints.map((hint) => issueOfHint(hint, section)));
  if (fault !== undefined) {
    issues.push(issueOfFault(fault, section));
    return undefined;
  }
  const { id, conversation_id } = raw;
  const more = collectExtra(raw, { ...fields, type: { ...(fields["id"] as (typeof fields)[string]) } });
  const extra = {
    ...(id === undefined ? {} : { id }),
    ...(conversation_id === undefined ? {} : { conversation_id }),
    ...more,
  };
  return { frame: frame as unknown as LumineFrame, extra };
}

const FILLERS: JsonObject = { id: "", role: "assistant", session_id: "" };

/** Opens the run if none is open. */
function begin(state: Conversation, what: string, issues: Issue[]): EventRecord[] {
  if (state.live) return [];
  if (!state.greeted) {
    issues.push(
      state.everDone
        ? raise("lumine-after-done", `${what} comes after [DONE], with no session_id frame between`)
        : raise("lumine-session-first", `the stream begins with ${what}, not with session_id`),
    );
  }
  state.live = true;
  state.greeted = false;
  state.lastWasError = false;
  state.reply.clear();
  const envelope = withExtra(envelopeOf(state), "lumine", state.greeting);
  state.greeting = undefined;
  return [{ envelope, event: { type: "run_start" } }];
}

function end(
  state: Conversation,
  status: string | null,
  extra: JsonObject | undefined,
  issues: Issue[],
): EventRecord[] {
  const outcome = outcomeOf(status, state.lastWasError);
  state.live = false;
  state.everDone = true;
  if (state.reply.overflowed)
    issues.push(raise("lumine-reply-limit", "the answer is longer than the limit; its reply is cut"));
  const plain = envelopeOf(state);
  const last = withExtra(plain, "lumine", extra);
  if (outcome !== "completed") return [{ envelope: last, event: { type: "run_end", status: outcome } }];
  return [
    { envelope: plain, event: { type: "run_end", status: "completed" } },
    { envelope: last, event: { type: "reply", reply: state.reply.toString() } },
  ];
}

/** [DONE] may say how the run ended; where it does not, an error right before it does. */
function outcomeOf(status: string | null, lastWasError: boolean): "completed" | "error" | "cancelled" {
  if (status === null) return lastWasError ? "error" : "completed";
  return status === "completed" || status === "cancelled" ? status : "error";
}

function envelopeOf({ sessionId }: Conversation): Envelope {
  return sessionId === undefined ? {} : { session_id: sessionId };
}

function toRecords(frame: Incoming["frame"], extra: JsonObject, state: Conversation, issues: Issue[]): EventRecord[] {
  if (frame.type === "session_id") {
    if (state.live) issues.push(raise("lumine-new-request", "a session_id frame before the last request's [DONE]"));
    state.live = false;
    state.greeted = true;
    state.greeting = extra;
    state.sessionId = frame.session_id === "" ? state.sessionId : frame.session_id;
    return [];
  }
  const named = frame.type === "unknown" ? frame.frame["session_id"] : frame.session_id;
  if (typeof named === "string" && named !== "") {
    if (state.sessionId !== undefined && named !== state.sessionId) {
      issues.push(
        raise("lumine-session-changed", `the stream is of session ${state.sessionId}, the frame of ${named}`),
      );
    }
    state.sessionId ??= named;
  }
  const outside =
    state.everDone && !state.live && !state.greeted && (frame.type === "todo_update" || frame.type === "todo_list");
  if (outside)
    issues.push(raise("lumine-after-done", `${frame.type} comes after [DONE], with no session_id frame between`));
  const records = outside ? [] : begin(state, frame.type, issues);
  const envelope = withExtra(envelopeOf(state), "lumine", extra);
  const plain = envelopeOf(state);
  const add = (event: AnyEvent, at: Envelope = envelope) => records.push({ envelope: at, event });
  const wasError = state.lastWasError;
  state.lastWasError = frame.type === "error";
  switch (frame.type) {
    case "chunk":
      if (frame.content === DONE) {
        state.lastWasError = wasError;
        return [...records, ...end(state, frame.status, extra, issues)];
      }
      state.reply.add(frame.content);
      add({ type: "message_chunk", content: frame.content, id: NODE_NAME });
      break;
    case "reasoning":
      if (frame.status === "thinking" || frame.content !== "") {
        add({ type: "reasoning_chunk", content: frame.content }, frame.status === "done" ? plain : envelope);
      }
      if (frame.status === "done") add({ type: "reasoning_end" });
      break;
    case "tool_use":
      useTool(frame, state, add, plain);
      break;
    case "tool_result": {
      const refused = state.waiting.get(frame.tool_use_id) !== undefined && frame.status === "error";
      state.waiting.delete(frame.tool_use_id);
      // A call that waited and ends in error without having run was refused.
      if (refused)
        add(
          { type: "tool_approval_result", call_id: frame.tool_use_id, name: frame.toolName, decision: "rejected" },
          plain,
        );
      add(toolEnd(frame, issues));
      break;
    }
    case "todo_list":
      add({
        type: "todo_list",
        list_id: frame.list_id,
        ...(frame.title == null ? {} : { title: frame.title }),
        items: frame.items,
      });
      break;
    case "todo_update": {
      const { list_id, item_id, completed, text } = frame;
      add({
        type: "todo_update",
        list_id,
        item_id,
        ...(completed == null ? {} : { completed }),
        ...(text == null ? {} : { text }),
      });
      break;
    }
    case "image": {
      const { url, mediaType, alt } = frame;
      add({
        type: "image",
        url,
        ...(mediaType == null ? {} : { media_type: mediaType }),
        ...(alt == null ? {} : { alt }),
      });
      break;
    }
    case "error":
      add({ type: "error", message: frame.error, ...(frame.code == null ? {} : { code: frame.code }) });
      break;
    case "unknown":
      add({ type: "foreign", dialect: "lumine", frame: frame.frame });
      break;
  }
  return records;
}

function useTool(
  frame: ToolUseFrame,
  state: Conversation,
  add: (event: AnyEvent, at?: Envelope) => void,
  plain: Envelope,
): void {
  const { tool_use_id: call_id, toolName: name, args, status } = frame;
  const shown = state.waiting.get(call_id);
  if (shown === undefined) add({ type: "tool_call", call_id, name, arguments: args }, plain);
  if (status === "awaiting_approval") {
    state.waiting.set(call_id, JSON.stringify(args));
    add({ type: "tool_approval", call_id, name, arguments: args });
    return;
  }
  if (shown !== undefined && shown !== JSON.stringify(args)) {
    add({ type: "tool_approval_result", call_id, name, decision: "approved", arguments: args }, plain);
  }
  state.waiting.delete(call_id);
  add({ type: "tool_start", call_id, name });
}

function toolEnd(frame: ToolResultFrame, issues: Issue[]): AnyEvent {
  const { tool_use_id: call_id, toolName: name, result, status, error, code } = frame;
  if (status === "completed") {
    const { result: text, ...data } = splitResult(result);
    return { type: "tool_end", call_id, name, result: text, is_error: false, ...data };
  }
  if (error === null) issues.push(raise("lumine-error-null", "the tool failed and `error` is null"));
  return {
    type: "tool_end",
    call_id,
    name,
    result: error ?? "failed",
    is_error: true,
    ...(result === null ? {} : { output: result }),
    ...(code == null ? {} : { error_code: code }),
  };
}
