/**
 * Folds AG-UI frames to the messages that a client has after them, as the client itself does. Messages of an interrupted
 * attempt are left out: only a client that was connected meanwhile has them.
 */
import { SUPERSEDED } from "../../../dialects/ag-ui/carried-events.ts";
import { PatchedValue } from "../../../dialects/ag-ui/json-patch.ts";
import type { Json, JsonObject } from "../../../protocol/index.ts";
import { isJsonObject } from "../../../protocol/json.ts";
import { readWaiting, type ThreadWaits } from "./waiting.ts";

/** A message of AG-UI. */
export interface AgUiThreadMessage {
  readonly id: string;
  readonly role: "user" | "assistant" | "reasoning" | "tool" | "activity";
  content?: Json;
  toolCalls?: AgUiToolCall[];
  readonly toolCallId?: string;
  readonly activityType?: string;
  readonly metadata?: JsonObject;
}

interface AgUiToolCall {
  readonly id: string;
  readonly type: "function";
  readonly function: { readonly name: string; arguments: string };
}

/** The fields of our frames that the fold reads. */
interface FoldedFrame extends JsonObject {
  readonly type: string;
  readonly messageId: string;
  readonly delta: string;
  readonly toolCallId: string;
  readonly toolCallName: string;
  readonly activityType: string;
}

export class ThreadFold {
  readonly #messages = new Map<string, AgUiThreadMessage>();
  readonly #calls = new Map<string, AgUiToolCall>();
  /** The graph state of the last run, if the frames have states. */
  #state: PatchedValue | undefined;
  /** What the last run waits for. */
  #waiting: ThreadWaits = { approvals: [], results: [] };

  get messages(): readonly AgUiThreadMessage[] {
    return [...this.#messages.values()];
  }

  /** The graph state; undefined if there is none. It changes with the next frame. */
  get state(): Json | undefined {
    return this.#state?.value;
  }

  get waiting(): ThreadWaits {
    return this.#waiting;
  }

  addMessage(message: AgUiThreadMessage): void {
    this.#messages.set(message.id, message);
  }

  add(text: string): void {
    const frame = JSON.parse(text) as FoldedFrame;
    const { messageId: id, delta, toolCallId } = frame;
    switch (frame.type) {
      case "TEXT_MESSAGE_START":
        if (!this.#messages.has(id)) this.addMessage({ id, role: "assistant", content: "" });
        break;
      case "REASONING_MESSAGE_START":
        if (!this.#messages.has(id)) this.addMessage({ id, role: "reasoning", content: "" });
        break;
      case "TEXT_MESSAGE_CONTENT":
      case "REASONING_MESSAGE_CONTENT":
        this.#append(id, delta);
        break;
      case "TOOL_CALL_START":
        this.#startCall(frame);
        break;
      case "TOOL_CALL_ARGS": {
        const call = this.#calls.get(toolCallId);
        if (call !== undefined) call.function.arguments += delta;
        break;
      }
      case "TOOL_CALL_RESULT": {
        const { content = "", metadata } = frame;
        const about = isJsonObject(metadata) ? { metadata } : {};
        this.addMessage({ id, role: "tool", toolCallId, content, ...about });
        break;
      }
      case "ACTIVITY_SNAPSHOT": {
        const { content = {}, activityType } = frame;
        this.addMessage({ id, role: "activity", activityType, content });
        break;
      }
      case "ACTIVITY_DELTA": {
        const message = this.#messages.get(id);
        const content = new PatchedValue(message?.content ?? {});
        content.apply(frame["patch"] as readonly JsonObject[], Number.POSITIVE_INFINITY);
        if (message !== undefined) message.content = content.value;
        break;
      }
      case "STATE_SNAPSHOT":
        this.#state = new PatchedValue(frame["snapshot"] ?? null);
        break;
      case "STATE_DELTA":
        this.#state?.apply(frame["delta"] as unknown as readonly JsonObject[], Number.POSITIVE_INFINITY);
        break;
      case "CUSTOM":
        if (frame["name"] === SUPERSEDED) this.#supersede(frame["value"]);
        break;
      case "RUN_STARTED":
        this.#waiting = readWaiting({});
        break;
      case "RUN_FINISHED":
        this.#waiting = readWaiting(frame);
        break;
      default:
    }
  }

  #append(id: string, delta: string): void {
    const message = this.#messages.get(id);
    if (message !== undefined)
      message.content = `${typeof message.content === "string" ? message.content : ""}${delta}`;
  }

  #startCall({ toolCallId: id, toolCallName: name, parentMessageId }: FoldedFrame): void {
    if (this.#calls.has(id)) return;
    const parent = typeof parentMessageId === "string" ? parentMessageId : id;
    let message = this.#messages.get(parent);
    if (message === undefined) {
      message = { id: parent, role: "assistant" };
      this.addMessage(message);
    }
    const call: AgUiToolCall = { id, type: "function", function: { name, arguments: "" } };
    this.#calls.set(id, call);
    (message.toolCalls ??= []).push(call);
  }

  #supersede(value: Json | undefined): void {
    const ids = isJsonObject(value) && Array.isArray(value["messageIds"]) ? value["messageIds"] : [];
    for (const id of ids) {
      const message = this.#messages.get(String(id));
      // Its calls count: they have results.
      if (message?.toolCalls === undefined) this.#messages.delete(String(id));
      else message.content = "";
    }
  }
}
