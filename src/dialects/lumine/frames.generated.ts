/**
 * Generated from the declarations by `npm run generate`; edit those instead.
 * The types of the vocabulary, and the forms a value is checked against.
 */
import { findFault } from "../../protocol/check-form.ts";
import type { Fault, Hint } from "../../protocol/fault.ts";
import { createFormFinder, type Form } from "../../protocol/form.ts";
import type { Json, JsonObject } from "../../protocol/json.ts";

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

/** From the type to its form, as a text. */
export const LUMINE_FRAME_FORMS = {
  "session_id": "004 §1#",
  "chunk": "004 §2#content:s",
  "reasoning": "004 §4#content:s status:=thinking|done",
  "tool_use": "004 §5#tool_use_id:s toolName:s args:m status:~running|awaiting_approval",
  "tool_result": "004 §6#tool_use_id:s toolName:s status:=completed|error code?s",
  "todo_list": "004 §7#list_id:s title?s items:[{id:s text:s completed:b}",
  "todo_update": "004 §8#list_id:s item_id:s completed?b text?s",
  "image": "004 §9#url:s mediaType?s alt?s",
  "error": "004 §10#error:s code?s",
};

export const findLumineFrameForm: (type: unknown) => Form | undefined = /* @__PURE__ */ createFormFinder(LUMINE_FRAME_FORMS, "id:s role:=assistant session_id:s conversation_id:!s tool_use_id:!s content:!s toolName:!s args:!m result:!j status:!s error:!s");

/** Checks the fields of a value whose `type` is known; undefined when they fit, and when the type is none of these. */
export function findLumineFrameFault(given: object, hints?: Hint[]): Fault | undefined {
  const value = given as Value;
  const form = findLumineFrameForm(value["type"]);
  return form === undefined ? undefined : findFault(form.fields, value, hints);
}
