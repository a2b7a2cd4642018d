/** Decodes chunks of the Chat Completions API, one message at a time. Servers differ in many details; it accepts them. */
import { type Envelope, findLoomEventFault } from "../../protocol/events.generated.ts";
import { type Json, type JsonObject, keepFields, toJsonObject, toJsonObjects } from "../../protocol/json.ts";
import type { AnyEvent, EventRecord } from "../../protocol/record.ts";
import type { Issue } from "../../protocol/rules.ts";
import { createDoneDecoder, createRunEnd, createRunStart, createUsage, DONE, toRecords } from "../client-decoder.ts";
import type { Decoded, Decoder, Decoding } from "../dialect.ts";
import { dropMissing } from "../../protocol/drop-undefined.ts";
import { withExtra } from "../extra.ts";
import { checkFrame, confidenceByForm, createFrameDecoder, createReporter, rejectFrame } from "../frame-decoder.ts";
import { isCount, PLAIN_FRAMES, readText } from "../frame-traits.ts";
import { ReplyText } from "../reply-text.ts";
import { DEFAULT_NODE_NAME, readArguments } from "../tool-values.ts";
import { ChatCalls } from "./chat-calls.ts";
import { findOpenaiChatFrameForm } from "./frames.generated.ts";
import { OPENAI_CHAT_RULES } from "./rules.ts";

const report = /* @__PURE__ */ createReporter(OPENAI_CHAT_RULES);
const OPENAI_CHAT = "openai-chat";
/** The `object` of a chunk. */
export const CHUNK = "chat.completion.chunk";
/** Limit of the client for choices and tool calls. */
const MAX_INDEX = 128;
/** Fields of a delta that are read; others are kept. */
const READ: ReadonlySet<string> = new Set([
  "role",
  "content",
  "refusal",
  "tool_calls",
  "reasoning",
  "reasoning_content",
]);

export const OPENAI_CHAT_DECODING: Decoding = {
  createDecoder: createOpenaiChatDecoder,
  confidence: (frame) => confidenceByForm(findOpenaiChatFrameForm(frame["object"]), frame, true),
  traits: { ...PLAIN_FRAMES, endText: DONE },
};

function createOpenaiChatDecoder(): Decoder {
  let runId: string | undefined;
  let messageId: string | undefined;
  /**
   * `finished` if the `finish_reason` was read and the usage is still to come, `waiting` if the run goes on in another
   * message.
   */
  let state: "new" | "live" | "finished" | "waiting" | "over" = "new";
  /** True if the run goes on after this message. */
  let isPaused = false;
  let hasRole = false;
  let hasUsage = false;
  /** The reply, if it is not the text of the message. */
  let given: string | undefined;
  const calls = new ChatCalls((index) => `call-${index}`);
  const reply = new ReplyText({ held: 0 });

  const envelope = (): Envelope => dropMissing({ run_id: runId });

  function begin(frame: JsonObject): EventRecord[] {
    const isContinued = state === "waiting";
    state = "live";
    messageId = readText(frame["id"]);
    isPaused = false;
    hasRole = false;
    hasUsage = false;
    calls.clear();
    if (isContinued && runId !== undefined && messageId?.startsWith(`${runId}.`) === true) return [];
    runId = messageId;
    given = undefined;
    reply.clear();
    return [createRunStart(runId, frame["created"])];
  }

  /** Starts a message if none is live, and ends one whose usage did not come. */
  function ensureRun(frame: JsonObject, issues: Issue[]): EventRecord[] {
    const id = readText(frame["id"]);
    const isOther = id !== undefined && messageId !== undefined && id !== messageId;
    if (state === "live") {
      if (!isOther) return [];
      report(
        issues,
        "openai-chat-id-changed",
        `the message ${messageId} continues as ${id}; use one \`id\` for all chunks`,
      );
      return beginAgain(frame);
    }
    const ended = state === "finished" ? toRecords(end("completed", {}, issues), envelope()) : [];
    const isLate = state === "over" && !isOther && id !== undefined;
    if (isLate) report(issues, "openai-chat-after-finish", describeLate(frame));
    return [...ended, ...(isLate ? beginAgain(frame) : begin(frame))];
  }

  /** Begins a message whose chunks belong to another one. It is not reported again for what that one had. */
  function beginAgain(frame: JsonObject): EventRecord[] {
    const had = hasRole;
    const records = begin(frame);
    hasRole = had;
    return records;
  }

  function end(status: "completed" | "error" | "cancelled", about: JsonObject, issues: Issue[]): AnyEvent[] {
    if (isPaused && status === "completed") {
      state = "waiting";
      return [];
    }
    state = "over";
    const event = createRunEnd(status, about["reason"], about["code"]);
    if (status !== "completed") return [event];
    if (reply.overflowed && given === undefined)
      report(issues, "openai-chat-reply-limit", "the answer exceeds the limit; the reply is cut off");
    return [event, { type: "reply", reply: given ?? reply.toString() }];
  }

  function fail(error: JsonObject, loom: JsonObject, issues: Issue[]): AnyEvent[] {
    const { status, reason, code } = loom;
    if (loom["type"] === "run_end" && (status === "error" || status === "cancelled"))
      return end(status, dropMissing({ reason, code }), issues);
    return end("error", dropMissing({ reason: readText(error["message"]), code: readText(error["code"]) }), issues);
  }

  function say(text: Json | undefined): readonly AnyEvent[] {
    if (typeof text !== "string" || text === "") return [];
    reply.add(text);
    return [{ type: "message_chunk", content: text, id: DEFAULT_NODE_NAME }];
  }

  function readChoice(choice: JsonObject, isOwn: boolean, issues: Issue[]): readonly AnyEvent[] {
    const { index } = choice;
    if (isCount(index) && index >= MAX_INDEX)
      report(issues, "openai-chat-index-limit", `the choice has the index ${index}; count choices from 0`);
    if (index !== 0) return [keep({ object: CHUNK, choices: [choice] })];
    const delta = toJsonObject(choice["delta"]);
    hasRole ||= readText(delta["role"]) !== undefined;
    const reasoning = delta["reasoning_content"] ?? delta["reasoning"];
    const events: AnyEvent[] = [];
    // A chunk with `loom` only separates.
    if (!isOwn && typeof reasoning === "string" && reasoning !== "")
      events.push({ type: "reasoning_chunk", content: reasoning });
    events.push(...say(delta["content"]), ...say(delta["refusal"]));
    for (const piece of toJsonObjects(delta["tool_calls"])) {
      const read = readCall(piece, issues);
      // The event is in `loom`.
      if (!isOwn) events.push(...read);
    }
    const rest = keepFields(delta, (name, value) => !READ.has(name) && value != null);
    if (Object.keys(rest).length > 0) events.push(keep({ object: CHUNK, choices: [{ index: 0, delta: rest }] }));
    return events;
  }

  function readCall(piece: JsonObject, issues: Issue[]): readonly AnyEvent[] {
    const { index } = piece;
    if (isCount(index) && index >= MAX_INDEX)
      report(issues, "openai-chat-index-limit", `the call has the index ${index}; count calls from 0`);
    const { call, delta } = calls.take(piece);
    if (delta === undefined) return [];
    const name = call.name === "" ? {} : { name: call.name };
    return [{ type: "tool_call_chunk", call_id: call.callId, ...name, arguments_delta: delta }];
  }

  function finish(issues: Issue[]): readonly AnyEvent[] {
    state = "finished";
    if (!hasRole)
      report(issues, "openai-chat-role-missing", "the message has no `role`; send `assistant` in its first delta");
    const events = calls.list().map(({ callId: call_id, name, input, isNamed }) => {
      if (!isNamed || name === "")
        report(
          issues,
          "openai-chat-call-incomplete",
          `the call ${call_id} has no ID, type or name; send them in its first chunk`,
        );
      return { type: "tool_call", call_id, name: name === "" ? "unknown" : name, ...readArguments(input) };
    });
    // The calls of a run of this package were read before.
    return isPaused ? [] : events;
  }

  function readUsage(frame: JsonObject): readonly AnyEvent[] {
    const { prompt_tokens, completion_tokens, total_tokens } = toJsonObject(frame["usage"]);
    const events = hasUsage ? [] : createUsage(prompt_tokens, completion_tokens, total_tokens);
    hasUsage ||= events.length > 0;
    return events;
  }

  function readLoom(loom: JsonObject): readonly AnyEvent[] {
    const event = loom as unknown as AnyEvent;
    switch (loom["type"]) {
      // About a chunk, and not about the run.
      case "superseded":
      case "repeated":
      case "separator":
        return [];
      case "waiting":
        isPaused = true;
        return [];
      case "reply":
        given = readText(loom["reply"]) ?? "";
        return [];
      default:
        if (typeof event.type !== "string" || findLoomEventFault(event) !== undefined)
          return [keep({ object: CHUNK, choices: [], loom })];
        hasUsage ||= event.type === "usage";
        return [event];
    }
  }

  function readEvents(frame: JsonObject, issues: Issue[]): readonly AnyEvent[] {
    const { choices, usage } = frame;
    const loom = toJsonObject(frame["loom"]);
    if (frame["error"] != null) return fail(toJsonObject(frame["error"]), loom, issues);
    const list = toJsonObjects(choices);
    const events = list.flatMap((choice) => readChoice(choice, typeof loom["type"] === "string", issues));
    if (Object.keys(loom).length > 0) events.push(...readLoom(loom));
    const isEnd = list.some(({ index, finish_reason }) => index === 0 && readText(finish_reason) !== undefined);
    if (isEnd) events.push(...finish(issues));
    // A message with `usage: null` has its usage in a later chunk, which has no choices.
    const awaits = isEnd && usage === null;
    if (usage != null) events.push(...readUsage(frame));
    if (state === "finished" && !awaits) events.push(...end("completed", {}, issues));
    return events;
  }

  const frames = createFrameDecoder((given): Decoded => {
    // An error of a server may come without the fields of a chunk.
    const frame: JsonObject =
      given["object"] === undefined && given["error"] != null ? { choices: [], ...given, object: CHUNK } : given;
    const { object } = frame;
    if (typeof object !== "string") return rejectFrame("frame-kind", "the chunk has no `object`");
    const form = findOpenaiChatFrameForm(object);
    const issues: Issue[] = [];
    if (form !== undefined && !checkFrame(form, frame, issues)) return { records: [], issues };
    const isLate = state === "finished" && isEmpty(frame, messageId);
    // Some servers send the usage, or an empty chunk, after the end.
    if ((state === "over" || state === "waiting") && isEmpty(frame, messageId) && frame["error"] == null)
      return { records: [], issues };
    const records = isLate ? [] : ensureRun(frame, issues);
    const events = form === undefined ? [keep(frame)] : readEvents(frame, issues);
    const extra = keepFields(frame, (name) => name !== "object" && form?.fields.has(name) === false);
    const at = envelope();
    return { records: [...records, ...toRecords(events, at, withExtra(at, OPENAI_CHAT, extra))], issues };
  });

  function readDone(issues: Issue[]): readonly EventRecord[] {
    if (state === "finished") return toRecords(end("completed", {}, issues), envelope());
    if (state !== "over" && state !== "waiting")
      report(
        issues,
        "openai-chat-finish-missing",
        "[DONE] comes before `finish_reason`; end the message with a chunk that has one",
      );
    return [];
  }

  return createDoneDecoder(frames, readDone, () => state === "waiting");
}

function describeLate({ choices }: JsonObject): string {
  const isEnd = toJsonObjects(choices).some(({ finish_reason }) => finish_reason != null);
  return isEnd
    ? "the message has two chunks with `finish_reason`; send it once, in the last chunk"
    : "content follows the end of its message; send `finish_reason` after the last content";
}

/** True for a chunk of the message `messageId` without content: an empty choice, or only the usage. */
function isEmpty({ id, choices, loom }: JsonObject, messageId: string | undefined): boolean {
  if (loom !== undefined || !Array.isArray(choices) || readText(id) !== messageId) return false;
  return toJsonObjects(choices).every(({ delta, finish_reason }) => {
    const fields = Object.entries(toJsonObject(delta));
    return (
      finish_reason == null &&
      fields.every(([name, value]) => (name === "role" && messageId !== undefined) || value == null || value === "")
    );
  });
}

function keep(frame: JsonObject): AnyEvent {
  return { type: "foreign", dialect: OPENAI_CHAT, frame };
}
