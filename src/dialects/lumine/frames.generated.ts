/**
 * Generated from the declarations by `npm run generate`; edit those instead.
 * The types of the vocabulary, and the code that checks a value against them.
 */
import { type Fault, type Hint, outside, tooDeep, unlisted, within, wrong } from "../../protocol/fault.ts";
import { isDeeperThan, type Json, type JsonObject } from "../../protocol/json.ts";

type Value = { readonly [field: string]: unknown };

/** Which session this is; always first (004 §1). */
export interface SessionIdFrame {
  readonly type: "session_id";
  /** Id of the frame; chunks of one message share one */
  readonly id: string;
  /** Always assistant */
  readonly role: "assistant";
  /** Id of the session */
  readonly session_id: string;
  /** Id of the conversation */
  readonly conversation_id: string | null;
  /** Id of the tool call */
  readonly tool_use_id: string | null;
  /** Text */
  readonly content: string | null;
  /** Name of the tool */
  readonly toolName: string | null;
  /** Arguments of the tool */
  readonly args: JsonObject | null;
  /** Result of the tool */
  readonly result: Json | null;
  /** State of what the frame is about */
  readonly status: string | null;
  /** What went wrong */
  readonly error: string | null;
}

/** A piece of the answer; `[DONE]` ends the request (004 §2). */
export interface ChunkFrame {
  readonly type: "chunk";
  /** Id of the frame; chunks of one message share one */
  readonly id: string;
  /** Always assistant */
  readonly role: "assistant";
  /** Id of the session */
  readonly session_id: string;
  /** Id of the conversation */
  readonly conversation_id: string | null;
  /** Id of the tool call */
  readonly tool_use_id: string | null;
  /** The piece */
  readonly content: string;
  /** Name of the tool */
  readonly toolName: string | null;
  /** Arguments of the tool */
  readonly args: JsonObject | null;
  /** Result of the tool */
  readonly result: Json | null;
  /** State of what the frame is about */
  readonly status: string | null;
  /** What went wrong */
  readonly error: string | null;
}

/** A piece of the model's thinking (004 §4). */
export interface ReasoningFrame {
  readonly type: "reasoning";
  /** Id of the frame; chunks of one message share one */
  readonly id: string;
  /** Always assistant */
  readonly role: "assistant";
  /** Id of the session */
  readonly session_id: string;
  /** Id of the conversation */
  readonly conversation_id: string | null;
  /** Id of the tool call */
  readonly tool_use_id: string | null;
  /** The piece */
  readonly content: string;
  /** Name of the tool */
  readonly toolName: string | null;
  /** Arguments of the tool */
  readonly args: JsonObject | null;
  /** Result of the tool */
  readonly result: Json | null;
  /** done ends it */
  readonly status: "thinking" | "done";
  /** What went wrong */
  readonly error: string | null;
}

/** A tool is being called (004 §5). */
export interface ToolUseFrame {
  readonly type: "tool_use";
  /** Id of the frame; chunks of one message share one */
  readonly id: string;
  /** Always assistant */
  readonly role: "assistant";
  /** Id of the session */
  readonly session_id: string;
  /** Id of the conversation */
  readonly conversation_id: string | null;
  /** Id of the tool call */
  readonly tool_use_id: string;
  /** Text */
  readonly content: string | null;
  /** Name of the tool */
  readonly toolName: string;
  /** The arguments */
  readonly args: JsonObject;
  /** Result of the tool */
  readonly result: Json | null;
  /** running, or waiting for consent */
  readonly status: "running" | "awaiting_approval" | (string & {});
  /** What went wrong */
  readonly error: string | null;
}

/** What a tool returned (004 §6). */
export interface ToolResultFrame {
  readonly type: "tool_result";
  /** Id of the frame; chunks of one message share one */
  readonly id: string;
  /** Always assistant */
  readonly role: "assistant";
  /** Id of the session */
  readonly session_id: string;
  /** Id of the conversation */
  readonly conversation_id: string | null;
  /** Id of the tool call */
  readonly tool_use_id: string;
  /** Text */
  readonly content: string | null;
  /** Name of the tool */
  readonly toolName: string;
  /** Arguments of the tool */
  readonly args: JsonObject | null;
  /** Result of the tool */
  readonly result: Json | null;
  /** How it ended */
  readonly status: "completed" | "error";
  /** What went wrong */
  readonly error: string | null;
  /** Code of the failure */
  readonly code?: string;
}

/** A to-do list (004 §7). */
export interface TodoListFrame {
  readonly type: "todo_list";
  /** Id of the frame; chunks of one message share one */
  readonly id: string;
  /** Always assistant */
  readonly role: "assistant";
  /** Id of the session */
  readonly session_id: string;
  /** Id of the conversation */
  readonly conversation_id: string | null;
  /** Id of the tool call */
  readonly tool_use_id: string | null;
  /** Text */
  readonly content: string | null;
  /** Name of the tool */
  readonly toolName: string | null;
  /** Arguments of the tool */
  readonly args: JsonObject | null;
  /** Result of the tool */
  readonly result: Json | null;
  /** State of what the frame is about */
  readonly status: string | null;
  /** What went wrong */
  readonly error: string | null;
  /** Id of the list */
  readonly list_id: string;
  /** Its title */
  readonly title?: string;
  /** The items in order */
  readonly items: readonly { readonly id: string; readonly text: string; readonly completed: boolean }[];
}

/** One item changed (004 §8). */
export interface TodoUpdateFrame {
  readonly type: "todo_update";
  /** Id of the frame; chunks of one message share one */
  readonly id: string;
  /** Always assistant */
  readonly role: "assistant";
  /** Id of the session */
  readonly session_id: string;
  /** Id of the conversation */
  readonly conversation_id: string | null;
  /** Id of the tool call */
  readonly tool_use_id: string | null;
  /** Text */
  readonly content: string | null;
  /** Name of the tool */
  readonly toolName: string | null;
  /** Arguments of the tool */
  readonly args: JsonObject | null;
  /** Result of the tool */
  readonly result: Json | null;
  /** State of what the frame is about */
  readonly status: string | null;
  /** What went wrong */
  readonly error: string | null;
  /** Id of the list */
  readonly list_id: string;
  /** Id of the item */
  readonly item_id: string;
  /** Whether it is done; null: unchanged */
  readonly completed?: boolean;
  /** New text; null: unchanged */
  readonly text?: string;
}

/** An image (004 §9). */
export interface ImageFrame {
  readonly type: "image";
  /** Id of the frame; chunks of one message share one */
  readonly id: string;
  /** Always assistant */
  readonly role: "assistant";
  /** Id of the session */
  readonly session_id: string;
  /** Id of the conversation */
  readonly conversation_id: string | null;
  /** Id of the tool call */
  readonly tool_use_id: string | null;
  /** Text */
  readonly content: string | null;
  /** Name of the tool */
  readonly toolName: string | null;
  /** Arguments of the tool */
  readonly args: JsonObject | null;
  /** Result of the tool */
  readonly result: Json | null;
  /** State of what the frame is about */
  readonly status: string | null;
  /** What went wrong */
  readonly error: string | null;
  /** Where it is */
  readonly url: string;
  /** E.g. image/png */
  readonly mediaType?: string;
  /** What it shows, in words */
  readonly alt?: string;
}

/** An error banner (004 §10). */
export interface ErrorFrame {
  readonly type: "error";
  /** Id of the frame; chunks of one message share one */
  readonly id: string;
  /** Always assistant */
  readonly role: "assistant";
  /** Id of the session */
  readonly session_id: string;
  /** Id of the conversation */
  readonly conversation_id: string | null;
  /** Id of the tool call */
  readonly tool_use_id: string | null;
  /** Text */
  readonly content: string | null;
  /** Name of the tool */
  readonly toolName: string | null;
  /** Arguments of the tool */
  readonly args: JsonObject | null;
  /** Result of the tool */
  readonly result: Json | null;
  /** State of what the frame is about */
  readonly status: string | null;
  /** What went wrong */
  readonly error: string;
  /** Code of the error */
  readonly code?: string;
}

/** One of all the above, told apart by `type`. */
export type LumineFrame =
  | SessionIdFrame
  | ChunkFrame
  | ReasoningFrame
  | ToolUseFrame
  | ToolResultFrame
  | TodoListFrame
  | TodoUpdateFrame
  | ImageFrame
  | ErrorFrame;

/** From the type to its interface. */
export interface LumineFrameMap {
  readonly "session_id": SessionIdFrame;
  readonly "chunk": ChunkFrame;
  readonly "reasoning": ReasoningFrame;
  readonly "tool_use": ToolUseFrame;
  readonly "tool_result": ToolResultFrame;
  readonly "todo_list": TodoListFrame;
  readonly "todo_update": TodoUpdateFrame;
  readonly "image": ImageFrame;
  readonly "error": ErrorFrame;
}

function checkInner1(value: Value): Fault | undefined {
  const id_ = value["id"];
  if (typeof id_ !== "string") return wrong("id", "a string", id_);
  const text_ = value["text"];
  if (typeof text_ !== "string") return wrong("text", "a string", text_);
  const completed_ = value["completed"];
  if (typeof completed_ !== "boolean") return wrong("completed", "true or false", completed_);
  return undefined;
}

function checkInner2(value: readonly unknown[]): Fault | undefined {
  for (const [index, item] of value.entries()) {
    if (typeof item !== "object" || item === null || Array.isArray(item)) return wrong(`[${index}]`, "an object", item);
    {
      const fault = checkInner1(item as Value);
      if (fault !== undefined) return within(`[${index}]`, fault);
    }
  }
  return undefined;
}

function checkSessionIdFrame(value: Value, _hints?: Hint[]): Fault | undefined {
  const id_ = value["id"];
  if (typeof id_ !== "string") return wrong("id", "a string", id_);
  const role_ = value["role"];
  if (typeof role_ !== "string") return wrong("role", "\"assistant\"", role_);
  if (role_ !== "assistant") return outside("role", "\"assistant\"", role_);
  const session_id_ = value["session_id"];
  if (typeof session_id_ !== "string") return wrong("session_id", "a string", session_id_);
  const conversation_id_ = value["conversation_id"];
  if (conversation_id_ === undefined) return wrong("conversation_id", "present, if only as null", conversation_id_);
  if (conversation_id_ !== null) {
    if (typeof conversation_id_ !== "string") return wrong("conversation_id", "a string", conversation_id_);
  }
  const tool_use_id_ = value["tool_use_id"];
  if (tool_use_id_ === undefined) return wrong("tool_use_id", "present, if only as null", tool_use_id_);
  if (tool_use_id_ !== null) {
    if (typeof tool_use_id_ !== "string") return wrong("tool_use_id", "a string", tool_use_id_);
  }
  const content_ = value["content"];
  if (content_ === undefined) return wrong("content", "present, if only as null", content_);
  if (content_ !== null) {
    if (typeof content_ !== "string") return wrong("content", "a string", content_);
  }
  const toolName_ = value["toolName"];
  if (toolName_ === undefined) return wrong("toolName", "present, if only as null", toolName_);
  if (toolName_ !== null) {
    if (typeof toolName_ !== "string") return wrong("toolName", "a string", toolName_);
  }
  const args_ = value["args"];
  if (args_ === undefined) return wrong("args", "present, if only as null", args_);
  if (args_ !== null) {
    if (typeof args_ !== "object" || args_ === null || Array.isArray(args_)) return wrong("args", "an object", args_);
    if (isDeeperThan(args_)) return tooDeep("args");
  }
  const result_ = value["result"];
  if (result_ === undefined) return wrong("result", "present, if only as null", result_);
  if (result_ !== null) {
    if (result_ === undefined) return wrong("result", "a JSON value", result_);
    if (isDeeperThan(result_)) return tooDeep("result");
  }
  const status_ = value["status"];
  if (status_ === undefined) return wrong("status", "present, if only as null", status_);
  if (status_ !== null) {
    if (typeof status_ !== "string") return wrong("status", "a string", status_);
  }
  const error_ = value["error"];
  if (error_ === undefined) return wrong("error", "present, if only as null", error_);
  if (error_ !== null) {
    if (typeof error_ !== "string") return wrong("error", "a string", error_);
  }
  return undefined;
}

function checkChunkFrame(value: Value, _hints?: Hint[]): Fault | undefined {
  const id_ = value["id"];
  if (typeof id_ !== "string") return wrong("id", "a string", id_);
  const role_ = value["role"];
  if (typeof role_ !== "string") return wrong("role", "\"assistant\"", role_);
  if (role_ !== "assistant") return outside("role", "\"assistant\"", role_);
  const session_id_ = value["session_id"];
  if (typeof session_id_ !== "string") return wrong("session_id", "a string", session_id_);
  const conversation_id_ = value["conversation_id"];
  if (conversation_id_ === undefined) return wrong("conversation_id", "present, if only as null", conversation_id_);
  if (conversation_id_ !== null) {
    if (typeof conversation_id_ !== "string") return wrong("conversation_id", "a string", conversation_id_);
  }
  const tool_use_id_ = value["tool_use_id"];
  if (tool_use_id_ === undefined) return wrong("tool_use_id", "present, if only as null", tool_use_id_);
  if (tool_use_id_ !== null) {
    if (typeof tool_use_id_ !== "string") return wrong("tool_use_id", "a string", tool_use_id_);
  }
  const content_ = value["content"];
  if (typeof content_ !== "string") return wrong("content", "a string", content_);
  const toolName_ = value["toolName"];
  if (toolName_ === undefined) return wrong("toolName", "present, if only as null", toolName_);
  if (toolName_ !== null) {
    if (typeof toolName_ !== "string") return wrong("toolName", "a string", toolName_);
  }
  const args_ = value["args"];
  if (args_ === undefined) return wrong("args", "present, if only as null", args_);
  if (args_ !== null) {
    if (typeof args_ !== "object" || args_ === null || Array.isArray(args_)) return wrong("args", "an object", args_);
    if (isDeeperThan(args_)) return tooDeep("args");
  }
  const result_ = value["result"];
  if (result_ === undefined) return wrong("result", "present, if only as null", result_);
  if (result_ !== null) {
    if (result_ === undefined) return wrong("result", "a JSON value", result_);
    if (isDeeperThan(result_)) return tooDeep("result");
  }
  const status_ = value["status"];
  if (status_ === undefined) return wrong("status", "present, if only as null", status_);
  if (status_ !== null) {
    if (typeof status_ !== "string") return wrong("status", "a string", status_);
  }
  const error_ = value["error"];
  if (error_ === undefined) return wrong("error", "present, if only as null", error_);
  if (error_ !== null) {
    if (typeof error_ !== "string") return wrong("error", "a string", error_);
  }
  return undefined;
}

function checkReasoningFrame(value: Value, _hints?: Hint[]): Fault | undefined {
  const id_ = value["id"];
  if (typeof id_ !== "string") return wrong("id", "a string", id_);
  const role_ = value["role"];
  if (typeof role_ !== "string") return wrong("role", "\"assistant\"", role_);
  if (role_ !== "assistant") return outside("role", "\"assistant\"", role_);
  const session_id_ = value["session_id"];
  if (typeof session_id_ !== "string") return wrong("session_id", "a string", session_id_);
  const conversation_id_ = value["conversation_id"];
  if (conversation_id_ === undefined) return wrong("conversation_id", "present, if only as null", conversation_id_);
  if (conversation_id_ !== null) {
    if (typeof conversation_id_ !== "string") return wrong("conversation_id", "a string", conversation_id_);
  }
  const tool_use_id_ = value["tool_use_id"];
  if (tool_use_id_ === undefined) return wrong("tool_use_id", "present, if only as null", tool_use_id_);
  if (tool_use_id_ !== null) {
    if (typeof tool_use_id_ !== "string") return wrong("tool_use_id", "a string", tool_use_id_);
  }
  const content_ = value["content"];
  if (typeof content_ !== "string") return wrong("content", "a string", content_);
  const toolName_ = value["toolName"];
  if (toolName_ === undefined) return wrong("toolName", "present, if only as null", toolName_);
  if (toolName_ !== null) {
    if (typeof toolName_ !== "string") return wrong("toolName", "a string", toolName_);
  }
  const args_ = value["args"];
  if (args_ === undefined) return wrong("args", "present, if only as null", args_);
  if (args_ !== null) {
    if (typeof args_ !== "object" || args_ === null || Array.isArray(args_)) return wrong("args", "an object", args_);
    if (isDeeperThan(args_)) return tooDeep("args");
  }
  const result_ = value["result"];
  if (result_ === undefined) return wrong("result", "present, if only as null", result_);
  if (result_ !== null) {
    if (result_ === undefined) return wrong("result", "a JSON value", result_);
    if (isDeeperThan(result_)) return tooDeep("result");
  }
  const status_ = value["status"];
  if (typeof status_ !== "string") return wrong("status", "one of thinking, done", status_);
  if (status_ !== "thinking" && status_ !== "done") return outside("status", "one of thinking, done", status_);
  const error_ = value["error"];
  if (error_ === undefined) return wrong("error", "present, if only as null", error_);
  if (error_ !== null) {
    if (typeof error_ !== "string") return wrong("error", "a string", error_);
  }
  return undefined;
}

function checkToolUseFrame(value: Value, hints?: Hint[]): Fault | undefined {
  const id_ = value["id"];
  if (typeof id_ !== "string") return wrong("id", "a string", id_);
  const role_ = value["role"];
  if (typeof role_ !== "string") return wrong("role", "\"assistant\"", role_);
  if (role_ !== "assistant") return outside("role", "\"assistant\"", role_);
  const session_id_ = value["session_id"];
  if (typeof session_id_ !== "string") return wrong("session_id", "a string", session_id_);
  const conversation_id_ = value["conversation_id"];
  if (conversation_id_ === undefined) return wrong("conversation_id", "present, if only as null", conversation_id_);
  if (conversation_id_ !== null) {
    if (typeof conversation_id_ !== "string") return wrong("conversation_id", "a string", conversation_id_);
  }
  const tool_use_id_ = value["tool_use_id"];
  if (typeof tool_use_id_ !== "string") return wrong("tool_use_id", "a string", tool_use_id_);
  const content_ = value["content"];
  if (content_ === undefined) return wrong("content", "present, if only as null", content_);
  if (content_ !== null) {
    if (typeof content_ !== "string") return wrong("content", "a string", content_);
  }
  const toolName_ = value["toolName"];
  if (typeof toolName_ !== "string") return wrong("toolName", "a string", toolName_);
  const args_ = value["args"];
  if (typeof args_ !== "object" || args_ === null || Array.isArray(args_)) return wrong("args", "an object", args_);
  if (isDeeperThan(args_)) return tooDeep("args");
  const result_ = value["result"];
  if (result_ === undefined) return wrong("result", "present, if only as null", result_);
  if (result_ !== null) {
    if (result_ === undefined) return wrong("result", "a JSON value", result_);
    if (isDeeperThan(result_)) return tooDeep("result");
  }
  const status_ = value["status"];
  if (typeof status_ !== "string") return wrong("status", "a string", status_);
  if (hints !== undefined && status_ !== "running" && status_ !== "awaiting_approval") hints.push(unlisted("status", status_, ["running","awaiting_approval"]));
  const error_ = value["error"];
  if (error_ === undefined) return wrong("error", "present, if only as null", error_);
  if (error_ !== null) {
    if (typeof error_ !== "string") return wrong("error", "a string", error_);
  }
  return undefined;
}

function checkToolResultFrame(value: Value, _hints?: Hint[]): Fault | undefined {
  const id_ = value["id"];
  if (typeof id_ !== "string") return wrong("id", "a string", id_);
  const role_ = value["role"];
  if (typeof role_ !== "string") return wrong("role", "\"assistant\"", role_);
  if (role_ !== "assistant") return outside("role", "\"assistant\"", role_);
  const session_id_ = value["session_id"];
  if (typeof session_id_ !== "string") return wrong("session_id", "a string", session_id_);
  const conversation_id_ = value["conversation_id"];
  if (conversation_id_ === undefined) return wrong("conversation_id", "present, if only as null", conversation_id_);
  if (conversation_id_ !== null) {
    if (typeof conversation_id_ !== "string") return wrong("conversation_id", "a string", conversation_id_);
  }
  const tool_use_id_ = value["tool_use_id"];
  if (typeof tool_use_id_ !== "string") return wrong("tool_use_id", "a string", tool_use_id_);
  const content_ = value["content"];
  if (content_ === undefined) return wrong("content", "present, if only as null", content_);
  if (content_ !== null) {
    if (typeof content_ !== "string") return wrong("content", "a string", content_);
  }
  const toolName_ = value["toolName"];
  if (typeof toolName_ !== "string") return wrong("toolName", "a string", toolName_);
  const args_ = value["args"];
  if (args_ === undefined) return wrong("args", "present, if only as null", args_);
  if (args_ !== null) {
    if (typeof args_ !== "object" || args_ === null || Array.isArray(args_)) return wrong("args", "an object", args_);
    if (isDeeperThan(args_)) return tooDeep("args");
  }
  const result_ = value["result"];
  if (result_ === undefined) return wrong("result", "present, if only as null", result_);
  if (result_ !== null) {
    if (result_ === undefined) return wrong("result", "a JSON value", result_);
    if (isDeeperThan(result_)) return tooDeep("result");
  }
  const status_ = value["status"];
  if (typeof status_ !== "string") return wrong("status", "one of completed, error", status_);
  if (status_ !== "completed" && status_ !== "error") return outside("status", "one of completed, error", status_);
  const error_ = value["error"];
  if (error_ === undefined) return wrong("error", "present, if only as null", error_);
  if (error_ !== null) {
    if (typeof error_ !== "string") return wrong("error", "a string", error_);
  }
  const code_ = value["code"];
  if (code_ !== undefined && code_ !== null) {
    if (typeof code_ !== "string") return wrong("code", "a string", code_);
  }
  return undefined;
}

function checkTodoListFrame(value: Value, _hints?: Hint[]): Fault | undefined {
  const id_ = value["id"];
  if (typeof id_ !== "string") return wrong("id", "a string", id_);
  const role_ = value["role"];
  if (typeof role_ !== "string") return wrong("role", "\"assistant\"", role_);
  if (role_ !== "assistant") return outside("role", "\"assistant\"", role_);
  const session_id_ = value["session_id"];
  if (typeof session_id_ !== "string") return wrong("session_id", "a string", session_id_);
  const conversation_id_ = value["conversation_id"];
  if (conversation_id_ === undefined) return wrong("conversation_id", "present, if only as null", conversation_id_);
  if (conversation_id_ !== null) {
    if (typeof conversation_id_ !== "string") return wrong("conversation_id", "a string", conversation_id_);
  }
  const tool_use_id_ = value["tool_use_id"];
  if (tool_use_id_ === undefined) return wrong("tool_use_id", "present, if only as null", tool_use_id_);
  if (tool_use_id_ !== null) {
    if (typeof tool_use_id_ !== "string") return wrong("tool_use_id", "a string", tool_use_id_);
  }
  const content_ = value["content"];
  if (content_ === undefined) return wrong("content", "present, if only as null", content_);
  if (content_ !== null) {
    if (typeof content_ !== "string") return wrong("content", "a string", content_);
  }
  const toolName_ = value["toolName"];
  if (toolName_ === undefined) return wrong("toolName", "present, if only as null", toolName_);
  if (toolName_ !== null) {
    if (typeof toolName_ !== "string") return wrong("toolName", "a string", toolName_);
  }
  const args_ = value["args"];
  if (args_ === undefined) return wrong("args", "present, if only as null", args_);
  if (args_ !== null) {
    if (typeof args_ !== "object" || args_ === null || Array.isArray(args_)) return wrong("args", "an object", args_);
    if (isDeeperThan(args_)) return tooDeep("args");
  }
  const result_ = value["result"];
  if (result_ === undefined) return wrong("result", "present, if only as null", result_);
  if (result_ !== null) {
    if (result_ === undefined) return wrong("result", "a JSON value", result_);
    if (isDeeperThan(result_)) return tooDeep("result");
  }
  const status_ = value["status"];
  if (status_ === undefined) return wrong("status", "present, if only as null", status_);
  if (status_ !== null) {
    if (typeof status_ !== "string") return wrong("status", "a string", status_);
  }
  const error_ = value["error"];
  if (error_ === undefined) return wrong("error", "present, if only as null", error_);
  if (error_ !== null) {
    if (typeof error_ !== "string") return wrong("error", "a string", error_);
  }
  const list_id_ = value["list_id"];
  if (typeof list_id_ !== "string") return wrong("list_id", "a string", list_id_);
  const title_ = value["title"];
  if (title_ !== undefined && title_ !== null) {
    if (typeof title_ !== "string") return wrong("title", "a string", title_);
  }
  const items_ = value["items"];
  if (!Array.isArray(items_)) return wrong("items", "an array", items_);
  {
    const fault = checkInner2(items_);
    if (fault !== undefined) return within("items", fault);
  }
  return undefined;
}

function checkTodoUpdateFrame(value: Value, _hints?: Hint[]): Fault | undefined {
  const id_ = value["id"];
  if (typeof id_ !== "string") return wrong("id", "a string", id_);
  const role_ = value["role"];
  if (typeof role_ !== "string") return wrong("role", "\"assistant\"", role_);
  if (role_ !== "assistant") return outside("role", "\"assistant\"", role_);
  const session_id_ = value["session_id"];
  if (typeof session_id_ !== "string") return wrong("session_id", "a string", session_id_);
  const conversation_id_ = value["conversation_id"];
  if (conversation_id_ === undefined) return wrong("conversation_id", "present, if only as null", conversation_id_);
  if (conversation_id_ !== null) {
    if (typeof conversation_id_ !== "string") return wrong("conversation_id", "a string", conversation_id_);
  }
  const tool_use_id_ = value["tool_use_id"];
  if (tool_use_id_ === undefined) return wrong("tool_use_id", "present, if only as null", tool_use_id_);
  if (tool_use_id_ !== null) {
    if (typeof tool_use_id_ !== "string") return wrong("tool_use_id", "a string", tool_use_id_);
  }
  const content_ = value["content"];
  if (content_ === undefined) return wrong("content", "present, if only as null", content_);
  if (content_ !== null) {
    if (typeof content_ !== "string") return wrong("content", "a string", content_);
  }
  const toolName_ = value["toolName"];
  if (toolName_ === undefined) return wrong("toolName", "present, if only as null", toolName_);
  if (toolName_ !== null) {
    if (typeof toolName_ !== "string") return wrong("toolName", "a string", toolName_);
  }
  const args_ = value["args"];
  if (args_ === undefined) return wrong("args", "present, if only as null", args_);
  if (args_ !== null) {
    if (typeof args_ !== "object" || args_ === null || Array.isArray(args_)) return wrong("args", "an object", args_);
    if (isDeeperThan(args_)) return tooDeep("args");
  }
  const result_ = value["result"];
  if (result_ === undefined) return wrong("result", "present, if only as null", result_);
  if (result_ !== null) {
    if (result_ === undefined) return wrong("result", "a JSON value", result_);
    if (isDeeperThan(result_)) return tooDeep("result");
  }
  const status_ = value["status"];
  if (status_ === undefined) return wrong("status", "present, if only as null", status_);
  if (status_ !== null) {
    if (typeof status_ !== "string") return wrong("status", "a string", status_);
  }
  const error_ = value["error"];
  if (error_ === undefined) return wrong("error", "present, if only as null", error_);
  if (error_ !== null) {
    if (typeof error_ !== "string") return wrong("error", "a string", error_);
  }
  const list_id_ = value["list_id"];
  if (typeof list_id_ !== "string") return wrong("list_id", "a string", list_id_);
  const item_id_ = value["item_id"];
  if (typeof item_id_ !== "string") return wrong("item_id", "a string", item_id_);
  const completed_ = value["completed"];
  if (completed_ !== undefined && completed_ !== null) {
    if (typeof completed_ !== "boolean") return wrong("completed", "true or false", completed_);
  }
  const text_ = value["text"];
  if (text_ !== undefined && text_ !== null) {
    if (typeof text_ !== "string") return wrong("text", "a string", text_);
  }
  return undefined;
}

function checkImageFrame(value: Value, _hints?: Hint[]): Fault | undefined {
  const id_ = value["id"];
  if (typeof id_ !== "string") return wrong("id", "a string", id_);
  const role_ = value["role"];
  if (typeof role_ !== "string") return wrong("role", "\"assistant\"", role_);
  if (role_ !== "assistant") return outside("role", "\"assistant\"", role_);
  const session_id_ = value["session_id"];
  if (typeof session_id_ !== "string") return wrong("session_id", "a string", session_id_);
  const conversation_id_ = value["conversation_id"];
  if (conversation_id_ === undefined) return wrong("conversation_id", "present, if only as null", conversation_id_);
  if (conversation_id_ !== null) {
    if (typeof conversation_id_ !== "string") return wrong("conversation_id", "a string", conversation_id_);
  }
  const tool_use_id_ = value["tool_use_id"];
  if (tool_use_id_ === undefined) return wrong("tool_use_id", "present, if only as null", tool_use_id_);
  if (tool_use_id_ !== null) {
    if (typeof tool_use_id_ !== "string") return wrong("tool_use_id", "a string", tool_use_id_);
  }
  const content_ = value["content"];
  if (content_ === undefined) return wrong("content", "present, if only as null", content_);
  if (content_ !== null) {
    if (typeof content_ !== "string") return wrong("content", "a string", content_);
  }
  const toolName_ = value["toolName"];
  if (toolName_ === undefined) return wrong("toolName", "present, if only as null", toolName_);
  if (toolName_ !== null) {
    if (typeof toolName_ !== "string") return wrong("toolName", "a string", toolName_);
  }
  const args_ = value["args"];
  if (args_ === undefined) return wrong("args", "present, if only as null", args_);
  if (args_ !== null) {
    if (typeof args_ !== "object" || args_ === null || Array.isArray(args_)) return wrong("args", "an object", args_);
    if (isDeeperThan(args_)) return tooDeep("args");
  }
  const result_ = value["result"];
  if (result_ === undefined) return wrong("result", "present, if only as null", result_);
  if (result_ !== null) {
    if (result_ === undefined) return wrong("result", "a JSON value", result_);
    if (isDeeperThan(result_)) return tooDeep("result");
  }
  const status_ = value["status"];
  if (status_ === undefined) return wrong("status", "present, if only as null", status_);
  if (status_ !== null) {
    if (typeof status_ !== "string") return wrong("status", "a string", status_);
  }
  const error_ = value["error"];
  if (error_ === undefined) return wrong("error", "present, if only as null", error_);
  if (error_ !== null) {
    if (typeof error_ !== "string") return wrong("error", "a string", error_);
  }
  const url_ = value["url"];
  if (typeof url_ !== "string") return wrong("url", "a string", url_);
  const mediaType_ = value["mediaType"];
  if (mediaType_ !== undefined && mediaType_ !== null) {
    if (typeof mediaType_ !== "string") return wrong("mediaType", "a string", mediaType_);
  }
  const alt_ = value["alt"];
  if (alt_ !== undefined && alt_ !== null) {
    if (typeof alt_ !== "string") return wrong("alt", "a string", alt_);
  }
  return undefined;
}

function checkErrorFrame(value: Value, _hints?: Hint[]): Fault | undefined {
  const id_ = value["id"];
  if (typeof id_ !== "string") return wrong("id", "a string", id_);
  const role_ = value["role"];
  if (typeof role_ !== "string") return wrong("role", "\"assistant\"", role_);
  if (role_ !== "assistant") return outside("role", "\"assistant\"", role_);
  const session_id_ = value["session_id"];
  if (typeof session_id_ !== "string") return wrong("session_id", "a string", session_id_);
  const conversation_id_ = value["conversation_id"];
  if (conversation_id_ === undefined) return wrong("conversation_id", "present, if only as null", conversation_id_);
  if (conversation_id_ !== null) {
    if (typeof conversation_id_ !== "string") return wrong("conversation_id", "a string", conversation_id_);
  }
  const tool_use_id_ = value["tool_use_id"];
  if (tool_use_id_ === undefined) return wrong("tool_use_id", "present, if only as null", tool_use_id_);
  if (tool_use_id_ !== null) {
    if (typeof tool_use_id_ !== "string") return wrong("tool_use_id", "a string", tool_use_id_);
  }
  const content_ = value["content"];
  if (content_ === undefined) return wrong("content", "present, if only as null", content_);
  if (content_ !== null) {
    if (typeof content_ !== "string") return wrong("content", "a string", content_);
  }
  const toolName_ = value["toolName"];
  if (toolName_ === undefined) return wrong("toolName", "present, if only as null", toolName_);
  if (toolName_ !== null) {
    if (typeof toolName_ !== "string") return wrong("toolName", "a string", toolName_);
  }
  const args_ = value["args"];
  if (args_ === undefined) return wrong("args", "present, if only as null", args_);
  if (args_ !== null) {
    if (typeof args_ !== "object" || args_ === null || Array.isArray(args_)) return wrong("args", "an object", args_);
    if (isDeeperThan(args_)) return tooDeep("args");
  }
  const result_ = value["result"];
  if (result_ === undefined) return wrong("result", "present, if only as null", result_);
  if (result_ !== null) {
    if (result_ === undefined) return wrong("result", "a JSON value", result_);
    if (isDeeperThan(result_)) return tooDeep("result");
  }
  const status_ = value["status"];
  if (status_ === undefined) return wrong("status", "present, if only as null", status_);
  if (status_ !== null) {
    if (typeof status_ !== "string") return wrong("status", "a string", status_);
  }
  const error_ = value["error"];
  if (typeof error_ !== "string") return wrong("error", "a string", error_);
  const code_ = value["code"];
  if (code_ !== undefined && code_ !== null) {
    if (typeof code_ !== "string") return wrong("code", "a string", code_);
  }
  return undefined;
}

/** The code that handles one type. */
interface Code {
  /** The first thing wrong with the fields. */
  check(value: Value, hints?: Hint[]): Fault | undefined;
}

const CODE: ReadonlyMap<unknown, Code> = new Map<string, Code>([
  ["session_id", { check: checkSessionIdFrame }],
  ["chunk", { check: checkChunkFrame }],
  ["reasoning", { check: checkReasoningFrame }],
  ["tool_use", { check: checkToolUseFrame }],
  ["tool_result", { check: checkToolResultFrame }],
  ["todo_list", { check: checkTodoListFrame }],
  ["todo_update", { check: checkTodoUpdateFrame }],
  ["image", { check: checkImageFrame }],
  ["error", { check: checkErrorFrame }],
]);

/** Checks the fields of a value whose `type` is known; undefined when they fit, and when the type is none of these. */
export function findLumineFrameFault(given: object, hints?: Hint[]): Fault | undefined {
  const value = given as Value;
  return CODE.get(value["type"])?.check(value, hints);
}
