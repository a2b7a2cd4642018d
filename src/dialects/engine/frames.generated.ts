/**
 * Generated from the declarations by `npm run generate`; edit those instead.
 * The types of the vocabulary, and the forms a value is checked against.
 */
import { findFault } from "../../protocol/check-form.ts";
import type { Fault, Hint } from "../../protocol/fault.ts";
import { createFormFinder, type Form } from "../../protocol/form.ts";
import type { JsonObject } from "../../protocol/json.ts";

type Value = { readonly [field: string]: unknown };

/** A request is being handled (003 §1.3). */
export interface SessionStartFrame {
  readonly type: "session_start";
  /** What the type is about */
  readonly data: { readonly session_id: string; readonly request_id: string };
  /** About the message */
  readonly metadata: { readonly request_id?: string; readonly timestamp: number; readonly sequence: number };
}

/** A piece of reasoning (003 §1.3). */
export interface ThinkingFrame {
  readonly type: "thinking";
  /** What the type is about */
  readonly data: { readonly content: string; readonly stage?: "reasoning" | "planning" | "analyzing" | (string & {}) };
  /** About the message */
  readonly metadata: { readonly request_id: string; readonly timestamp: number; readonly sequence: number };
}

/** A tool begins to run (003 §1.3). */
export interface ToolCallStartFrame {
  readonly type: "tool_call_start";
  /** What the type is about */
  readonly data: { readonly tool_id: string; readonly tool_name: string; readonly description?: string; readonly arguments: JsonObject };
  /** About the message */
  readonly metadata: { readonly request_id: string; readonly timestamp: number; readonly sequence: number };
}

/** How far a long tool has come (003 §1.1). */
export interface ToolCallProgressFrame {
  readonly type: "tool_call_progress";
  /** What the type is about */
  readonly data: { readonly tool_id: string; readonly progress: number; readonly message?: string };
  /** About the message */
  readonly metadata: { readonly request_id: string; readonly timestamp: number; readonly sequence: number };
}

/** A tool is done (003 §1.3). */
export interface ToolCallEndFrame {
  readonly type: "tool_call_end";
  /** What the type is about */
  readonly data: { readonly tool_id: string; readonly status: "success" | "failed"; readonly result?: JsonObject; readonly error?: { readonly message: string; readonly code?: string } };
  /** About the message */
  readonly metadata: { readonly request_id: string; readonly timestamp: number; readonly sequence: number; readonly duration_ms?: number };
}

/** A piece of the answer (003 §1.3). */
export interface ContentFrame {
  readonly type: "content";
  /** What the type is about */
  readonly data: { readonly content: string; readonly format?: "markdown" | "text" | "html" | (string & {}); readonly is_complete?: boolean };
  /** About the message */
  readonly metadata: { readonly request_id: string; readonly timestamp: number; readonly sequence: number };
}

/** Structured data (003 §1.3). */
export interface DataFrame {
  readonly type: "data";
  /** What the type is about */
  readonly data: { readonly data_type: "dataframe" | "chart" | "image" | "custom"; readonly data: JsonObject; readonly metadata?: JsonObject };
  /** About the message */
  readonly metadata: { readonly request_id: string; readonly timestamp: number; readonly sequence: number };
}

/** Something went wrong (003 §1.3). */
export interface ErrorFrame {
  readonly type: "error";
  /** What the type is about */
  readonly data: { readonly error_type: "validation" | "execution" | "timeout" | "system"; readonly message: string; readonly details?: JsonObject; readonly recoverable?: boolean; readonly code?: string; readonly stage?: string };
  /** About the message */
  readonly metadata: { readonly request_id: string; readonly timestamp: number; readonly sequence: number };
}

/** The request has been handled (003 §1.3). */
export interface SessionEndFrame {
  readonly type: "session_end";
  /** What the type is about */
  readonly data: { readonly status: "completed" | "error" | "cancelled"; readonly summary?: { readonly total_tokens?: number; readonly duration_ms?: number; readonly tool_calls?: number } };
  /** About the message */
  readonly metadata: { readonly request_id: string; readonly timestamp: number; readonly sequence: number };
}

/** One of all the above, told apart by `type`. */
export type EngineFrame =
  | SessionStartFrame
  | ThinkingFrame
  | ToolCallStartFrame
  | ToolCallProgressFrame
  | ToolCallEndFrame
  | ContentFrame
  | DataFrame
  | ErrorFrame
  | SessionEndFrame;

/** From the type to its interface. */
export interface EngineFrameMap {
  readonly "session_start": SessionStartFrame;
  readonly "thinking": ThinkingFrame;
  readonly "tool_call_start": ToolCallStartFrame;
  readonly "tool_call_progress": ToolCallProgressFrame;
  readonly "tool_call_end": ToolCallEndFrame;
  readonly "content": ContentFrame;
  readonly "data": DataFrame;
  readonly "error": ErrorFrame;
  readonly "session_end": SessionEndFrame;
}

/** From the type to its form, as a text. */
export const ENGINE_FRAME_FORMS = {
  "session_start": "003 §1.3#metadata:{request_id?s timestamp:n sequence:i0}",
  "thinking": "003 §1.3#data:{content:s stage?~reasoning|planning|analyzing}",
  "tool_call_start": "003 §1.3#data:{tool_id:s tool_name:s description?s arguments:m}",
  "tool_call_progress": "003 §1.1#data:{tool_id:s progress:n0,100 message?s}",
  "tool_call_end": "003 §1.3#data:{tool_id:s status:=success|failed result?m error?{message:s code?s}} metadata:{request_id:s timestamp:n sequence:i0 duration_ms?n0}",
  "content": "003 §1.3#data:{content:s format?~markdown|text|html is_complete?b}",
  "data": "003 §1.3#data:{data_type:=dataframe|chart|image|custom data:m metadata?m}",
  "error": "003 §1.3#data:{error_type:=validation|execution|timeout|system message:s details?m recoverable?b code?s stage?s}",
  "session_end": "003 §1.3#data:{status:=completed|error|cancelled summary?{total_tokens?i0 duration_ms?n0 tool_calls?i0}}",
};

export const findEngineFrameForm: (type: unknown) => Form | undefined = /* @__PURE__ */ createFormFinder(ENGINE_FRAME_FORMS, "data:{session_id:s request_id:s} metadata:{request_id:s timestamp:n sequence:i0}");

/** Checks the fields of a value whose `type` is known; undefined when they fit, and when the type is none of these. */
export function findEngineFrameFault(given: object, hints?: Hint[]): Fault | undefined {
  const value = given as Value;
  const form = findEngineFrameForm(value["type"]);
  return form === undefined ? undefined : findFault(form.fields, value, hints);
}
