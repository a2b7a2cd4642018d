/**
 * Reads events of AG-UI inside a run as events of Loom. It knows calls and approvals, but no runs: the decoder starts and
 * ends them.
 */
import { BoundedMap } from "../../protocol/bounded-map.ts";
import { findLoomEventFault, type ToolApprovalResultEvent } from "../../protocol/events.generated.ts";
import {
  isJsonObject,
  type Json,
  type JsonObject,
  parseJson,
  toJsonObject,
  toJsonObjects,
} from "../../protocol/json.ts";
import type { AnyEvent } from "../../protocol/record.ts";
import type { Issue } from "../../protocol/rules.ts";
import { CallStarts } from "../client-decoder.ts";
import { textOf } from "../frame-traits.ts";
import { MAX_REPLY_CHARACTERS, ReplyText } from "../reply-text.ts";
import { DEFAULT_NODE_NAME, readArguments } from "../tool-values.ts";
import { AG_UI, findActivityEvent, findCustomEvent, NOTICE, SUPERSEDED } from "./carried-events.ts";
import type { DeltaReader } from "./delta-reader.ts";
import { report } from "./rules.ts";

const MAX_CALLS = 10_000;
const MAX_MESSAGES = 10_000;
const NO_EVENTS: readonly AnyEvent[] = [];

interface ReadCall {
  readonly name: string;
  /** The arguments so far; undefined if they are too long to be kept, and after the call. */
  text: string | undefined;
  input: JsonObject;
  isCalled: boolean;
}

/** Reads the frames of one run. */
export class FrameReader {
  readonly #deltas: DeltaReader;
  readonly #calls = new BoundedMap<ReadCall>(MAX_CALLS);
  readonly #starts = new CallStarts();
  /** Calls that wait for approval. */
  readonly #asked = new BoundedMap<true>(MAX_CALLS);
  /** Messages of a role other than `assistant`. */
  readonly #others = new BoundedMap<true>(MAX_MESSAGES);
  readonly #budget = { held: 0 };
  /** The text of the last message. */
  readonly #reply = new ReplyText(this.#budget);
  #lastMessage: Json | undefined;

  /** `deltas` has the state and the activities of the stream. */
  constructor(deltas: DeltaReader) {
    this.#deltas = deltas;
  }

  /** Returns the events of a frame. A frame without an equivalent is kept as `foreign`. */
  read(type: string, frame: JsonObject, issues: Issue[]): readonly AnyEvent[] {
    const { messageId } = frame;
    const { loom } = toJsonObject(frame["metadata"]);
    if (type.startsWith("TEXT_MESSAGE_") && this.#isOther(type, frame)) return [keep(frame)];
    switch (type) {
      case "TEXT_MESSAGE_START":
        if (messageId !== this.#lastMessage) this.#reply.clear();
        this.#lastMessage = messageId;
        return NO_EVENTS;
      case "TEXT_MESSAGE_CONTENT":
        return this.#readText(textOf(frame["delta"]), issues);
      case "REASONING_MESSAGE_CONTENT":
      case "THINKING_TEXT_MESSAGE_CONTENT":
        return [{ type: "reasoning_chunk", content: textOf(frame["delta"]) }];
      case "REASONING_END":
      case "THINKING_END":
        return [{ type: "reasoning_end" }];
      case "TEXT_MESSAGE_END":
      case "REASONING_START":
      case "REASONING_MESSAGE_START":
      case "REASONING_MESSAGE_END":
      case "THINKING_START":
      case "THINKING_TEXT_MESSAGE_START":
      case "THINKING_TEXT_MESSAGE_END":
        return NO_EVENTS;
      case "TOOL_CALL_START":
      case "TOOL_CALL_ARGS":
      case "TOOL_CALL_END":
      case "TOOL_CALL_RESULT":
        return this.#readCall(type, textOf(frame["toolCallId"]), frame, toJsonObject(loom), issues);
      case "STATE_SNAPSHOT":
        this.#deltas.setState(frame["snapshot"] ?? null);
        return [{ type: "values", state: frame["snapshot"] ?? null }];
      case "STATE_DELTA":
        return [this.#deltas.readState(frame["delta"] as readonly JsonObject[], issues) ?? keep(frame)];
      case "ACTIVITY_DELTA":
        return [this.#deltas.readActivity(frame, issues) ?? keep(frame)];
      case "STEP_STARTED":
      case "STEP_FINISHED":
        return isJsonObject(loom) ? NO_EVENTS : [keep(frame)];
      case "RAW":
        return [readRaw(frame)];
      case "CUSTOM":
        if (frame["name"] === SUPERSEDED) this.#reply.clear();
        if (frame["name"] === SUPERSEDED || frame["name"] === NOTICE) return NO_EVENTS;
        return this.#readCarried(findCustomEvent(frame["name"]), frame["value"], frame);
      case "ACTIVITY_SNAPSHOT":
        this.#deltas.setActivity(textOf(messageId), frame["content"] ?? {}, frame["replace"] === false);
        return this.#readCarried(findActivityEvent(frame["activityType"]), frame["content"], frame);
      case "MESSAGES_SNAPSHOT":
        for (const { role, id, content } of frame["messages"] as readonly JsonObject[])
          if (role === "activity") this.#deltas.setActivity(textOf(id), content ?? {}, false);
        return [keep(frame)];
      default:
        return [keep(frame)];
    }
  }

  /** Reads what the run waits for. Only approvals of tool calls have an event; the frame is kept for the others. */
  readInterrupts(frame: JsonObject): readonly AnyEvent[] {
    const { interrupts } = toJsonObject(frame["outcome"]);
    const list = (interrupts ?? []) as readonly JsonObject[];
    const events = list.flatMap((interrupt) => this.#readApproval(interrupt));
    return list.some(({ toolCallId }) => typeof toolCallId !== "string") ? [...events, keep(frame)] : events;
  }

  /** The text of the last message. */
  get answer(): string {
    return this.#reply.toString();
  }

  #readText(content: string, issues: Issue[]): readonly AnyEvent[] {
    const wasCut = this.#reply.overflowed;
    this.#reply.add(content);
    if (this.#reply.overflowed && !wasCut)
      report(issues, "ag-ui-text-limit", "the answer exceeds the limit; the reply is cut off");
    return [{ type: "message_chunk", content, id: DEFAULT_NODE_NAME }];
  }

  #isOther(type: string, { messageId, role }: JsonObject): boolean {
    const id = textOf(messageId);
    if (type !== "TEXT_MESSAGE_START") return this.#others.has(id);
    if ((role ?? "assistant") === "assistant") return false;
    this.#others.set(id, true);
    return true;
  }

  #readCall(type: string, call_id: string, frame: JsonObject, loom: JsonObject, issues: Issue[]): readonly AnyEvent[] {
    const known = this.#calls.get(call_id);
    switch (type) {
      case "TOOL_CALL_START":
        // A run that waited sends the rest of the arguments under the same ID.
        if (known === undefined || known.isCalled)
          this.#calls.set(call_id, { name: textOf(frame["toolCallName"]), text: "", input: {}, isCalled: false });
        return NO_EVENTS;
      case "TOOL_CALL_ARGS": {
        if (known === undefined) return [keep(frame)];
        const arguments_delta = textOf(frame["delta"]);
        this.#addArguments(known, arguments_delta, issues);
        return [{ type: "tool_call_chunk", call_id, name: known.name, arguments_delta }];
      }
      case "TOOL_CALL_END":
        if (known === undefined) return [keep(frame)];
        return loom["incomplete"] === true ? NO_EVENTS : [this.#call(call_id, known, loom)];
      default:
        if (loom["superseded"] === true) return NO_EVENTS;
        return [...this.#ensureCall(call_id, known?.name), ...this.#starts.add(this.#end(call_id, frame, loom))];
    }
  }

  #addArguments(call: ReadCall, delta: string, issues: Issue[]): void {
    if (call.text === undefined) return;
    if (this.#budget.held + delta.length > MAX_REPLY_CHARACTERS) {
      this.#budget.held -= call.text.length;
      call.text = undefined;
      report(issues, "ag-ui-text-limit", `the arguments of ${call.name} exceed the limit`);
      return;
    }
    call.text += delta;
    this.#budget.held += delta.length;
  }

  #call(call_id: string, call: ReadCall, { description, arguments: corrected }: JsonObject): AnyEvent {
    const text = typeof corrected === "string" ? corrected : (call.text ?? "");
    this.#budget.held -= call.text?.length ?? 0;
    const read = readArguments(text);
    call.text = undefined;
    call.input = read.arguments;
    call.isCalled = true;
    const about = typeof description === "string" ? { description } : {};
    return { type: "tool_call", call_id, name: call.name, ...read, ...about };
  }

  /** Returns the call of a result whose call was not sent, such as one of an earlier run. */
  #ensureCall(call_id: string, name = "unknown"): readonly AnyEvent[] {
    const call = this.#calls.getOrCreate(call_id, () => ({ name, text: "", input: {}, isCalled: false }));
    return call.isCalled ? NO_EVENTS : [this.#call(call_id, call, {})];
  }

  #end(call_id: string, { content }: JsonObject, loom: JsonObject): AnyEvent {
    const call = this.#calls.get(call_id);
    if (call !== undefined) call.input = {};
    this.#asked.delete(call_id);
    const result = typeof content === "string" ? content : readParts(content);
    const { error_code, duration_ms, is_json } = loom;
    const output =
      is_json === true
        ? (parseJson(result) as Json | undefined)
        : typeof content === "string"
          ? loom["output"]
          : content;
    const event: AnyEvent = {
      type: "tool_end",
      call_id,
      name: call?.name ?? "unknown",
      result,
      is_error: loom["is_error"] === true,
      ...(typeof error_code === "string" ? { error_code } : {}),
      ...(typeof duration_ms === "number" && duration_ms >= 0 ? { duration_ms } : {}),
    };
    const whole: AnyEvent = output === undefined ? event : { ...event, output };
    // The text of a result can be nested too deeply.
    return findLoomEventFault(whole) === undefined ? whole : event;
  }

  #readApproval(interrupt: JsonObject): readonly AnyEvent[] {
    const { toolCallId, expiresAt, metadata } = interrupt;
    if (typeof toolCallId !== "string" || this.#asked.has(toolCallId)) return NO_EVENTS;
    this.#asked.set(toolCallId, true);
    const { toolName, input, loom } = toJsonObject(metadata);
    const known = this.#calls.get(toolCallId);
    const name = known?.name ?? (typeof toolName === "string" ? toolName : "unknown");
    const { expires_at, digest } = toJsonObject(loom);
    const expiry = typeof expires_at === "number" ? expires_at : Date.parse(textOf(expiresAt));
    const event: AnyEvent = {
      type: "tool_approval",
      call_id: toolCallId,
      name,
      arguments: isJsonObject(input) ? input : (known?.input ?? {}),
      ...(Number.isFinite(expiry) ? { expires_at: expiry } : {}),
      ...(typeof digest === "string" ? { digest } : {}),
    };
    return [...this.#ensureCall(toolCallId, name), event];
  }

  #readCarried(type: string | undefined, fields: Json | undefined, frame: JsonObject): readonly AnyEvent[] {
    const event = { ...toJsonObject(fields), type } as AnyEvent;
    if (type !== undefined && findLoomEventFault(event) === undefined) {
      if (type === "tool_approval_result") this.#asked.delete(textOf((event as ToolApprovalResultEvent).call_id));
      return this.#starts.add(event);
    }
    return frame["type"] === "CUSTOM" ? [{ type: "custom", value: frame }] : [keep(frame)];
  }
}

export function keep(frame: JsonObject): AnyEvent {
  return { type: "foreign", dialect: AG_UI, frame };
}

/** The text of a result that consists of parts. */
function readParts(parts: Json | undefined): string {
  return toJsonObjects(parts)
    .map(({ text }) => textOf(text))
    .join("");
}

function readRaw(frame: JsonObject): AnyEvent {
  const { event, source, ...others } = frame;
  if (typeof source !== "string" || event === undefined || Object.keys(others).length > 1) return keep(frame);
  return { type: "foreign", dialect: source, frame: event };
}
