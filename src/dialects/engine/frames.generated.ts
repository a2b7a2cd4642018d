/**
 * Generated from the declarations by `npm run generate`; edit those instead.
 * The types of the vocabulary, and the code that checks a value against them.
 */
import { type Fault, type Hint, moveHints, outside, tooDeep, unlisted, within, wrong } from "../../protocol/fault.ts";
import { isDeeperThan, type JsonObject } from "../../protocol/json.ts";

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

function checkInner1(value: Value): Fault | undefined {
  const session_id_ = value["session_id"];
  if (typeof session_id_ !== "string") return wrong("session_id", "a string", session_id_);
  const request_id_ = value["request_id"];
  if (typeof request_id_ !== "string") return wrong("request_id", "a string", request_id_);
  return undefined;
}

function checkInner2(value: Value): Fault | undefined {
  const request_id_ = value["request_id"];
  if (request_id_ !== undefined && request_id_ !== null) {
    if (typeof request_id_ !== "string") return wrong("request_id", "a string", request_id_);
  }
  const timestamp_ = value["timestamp"];
  if (typeof timestamp_ !== "number") return wrong("timestamp", "a finite number", timestamp_);
  if (!Number.isFinite(timestamp_)) return outside("timestamp", "a finite number", timestamp_);
  const sequence_ = value["sequence"];
  if (typeof sequence_ !== "number") return wrong("sequence", "a whole number", sequence_);
  if (!Number.isInteger(sequence_) || sequence_ < 0 || sequence_ > 9007199254740991) return outside("sequence", "a whole number from 0 to 2^53-1", sequence_);
  return undefined;
}

function checkInner3(value: Value, hints: Hint[] | undefined): Fault | undefined {
  const content_ = value["content"];
  if (typeof content_ !== "string") return wrong("content", "a string", content_);
  const stage_ = value["stage"];
  if (stage_ !== undefined && stage_ !== null) {
    if (typeof stage_ !== "string") return wrong("stage", "a string", stage_);
    if (hints !== undefined && stage_ !== "reasoning" && stage_ !== "planning" && stage_ !== "analyzing") hints.push(unlisted("stage", stage_, ["reasoning","planning","analyzing"]));
  }
  return undefined;
}

function checkInner4(value: Value): Fault | undefined {
  const request_id_ = value["request_id"];
  if (typeof request_id_ !== "string") return wrong("request_id", "a string", request_id_);
  const timestamp_ = value["timestamp"];
  if (typeof timestamp_ !== "number") return wrong("timestamp", "a finite number", timestamp_);
  if (!Number.isFinite(timestamp_)) return outside("timestamp", "a finite number", timestamp_);
  const sequence_ = value["sequence"];
  if (typeof sequence_ !== "number") return wrong("sequence", "a whole number", sequence_);
  if (!Number.isInteger(sequence_) || sequence_ < 0 || sequence_ > 9007199254740991) return outside("sequence", "a whole number from 0 to 2^53-1", sequence_);
  return undefined;
}

function checkInner5(value: Value): Fault | undefined {
  const tool_id_ = value["tool_id"];
  if (typeof tool_id_ !== "string") return wrong("tool_id", "a string", tool_id_);
  const tool_name_ = value["tool_name"];
  if (typeof tool_name_ !== "string") return wrong("tool_name", "a string", tool_name_);
  const description_ = value["description"];
  if (description_ !== undefined && description_ !== null) {
    if (typeof description_ !== "string") return wrong("description", "a string", description_);
  }
  const arguments_ = value["arguments"];
  if (typeof arguments_ !== "object" || arguments_ === null || Array.isArray(arguments_)) return wrong("arguments", "an object", arguments_);
  if (isDeeperThan(arguments_)) return tooDeep("arguments");
  return undefined;
}

function checkInner6(value: Value): Fault | undefined {
  const tool_id_ = value["tool_id"];
  if (typeof tool_id_ !== "string") return wrong("tool_id", "a string", tool_id_);
  const progress_ = value["progress"];
  if (typeof progress_ !== "number") return wrong("progress", "a finite number", progress_);
  if (!Number.isFinite(progress_) || progress_ < 0 || progress_ > 100) return outside("progress", "a finite number from 0 to 100", progress_);
  const message_ = value["message"];
  if (message_ !== undefined && message_ !== null) {
    if (typeof message_ !== "string") return wrong("message", "a string", message_);
  }
  return undefined;
}

function checkInner7(value: Value): Fault | undefined {
  const message_ = value["message"];
  if (typeof message_ !== "string") return wrong("message", "a string", message_);
  const code_ = value["code"];
  if (code_ !== undefined && code_ !== null) {
    if (typeof code_ !== "string") return wrong("code", "a string", code_);
  }
  return undefined;
}

function checkInner8(value: Value): Fault | undefined {
  const tool_id_ = value["tool_id"];
  if (typeof tool_id_ !== "string") return wrong("tool_id", "a string", tool_id_);
  const status_ = value["status"];
  if (typeof status_ !== "string") return wrong("status", "one of success, failed", status_);
  if (status_ !== "success" && status_ !== "failed") return outside("status", "one of success, failed", status_);
  const result_ = value["result"];
  if (result_ !== undefined && result_ !== null) {
    if (typeof result_ !== "object" || result_ === null || Array.isArray(result_)) return wrong("result", "an object", result_);
    if (isDeeperThan(result_)) return tooDeep("result");
  }
  const error_ = value["error"];
  if (error_ !== undefined && error_ !== null) {
    if (typeof error_ !== "object" || error_ === null || Array.isArray(error_)) return wrong("error", "an object", error_);
    {
      const fault = checkInner7(error_ as Value);
      if (fault !== undefined) return within("error", fault);
    }
  }
  return undefined;
}

function checkInner9(value: Value): Fault | undefined {
  const request_id_ = value["request_id"];
  if (typeof request_id_ !== "string") return wrong("request_id", "a string", request_id_);
  const timestamp_ = value["timestamp"];
  if (typeof timestamp_ !== "number") return wrong("timestamp", "a finite number", timestamp_);
  if (!Number.isFinite(timestamp_)) return outside("timestamp", "a finite number", timestamp_);
  const sequence_ = value["sequence"];
  if (typeof sequence_ !== "number") return wrong("sequence", "a whole number", sequence_);
  if (!Number.isInteger(sequence_) || sequence_ < 0 || sequence_ > 9007199254740991) return outside("sequence", "a whole number from 0 to 2^53-1", sequence_);
  const duration_ms_ = value["duration_ms"];
  if (duration_ms_ !== undefined && duration_ms_ !== null) {
    if (typeof duration_ms_ !== "number") return wrong("duration_ms", "a finite number", duration_ms_);
    if (!Number.isFinite(duration_ms_) || duration_ms_ < 0) return outside("duration_ms", "a finite number, at least 0", duration_ms_);
  }
  return undefined;
}

function checkInner10(value: Value, hints: Hint[] | undefined): Fault | undefined {
  const content_ = value["content"];
  if (typeof content_ !== "string") return wrong("content", "a string", content_);
  const format_ = value["format"];
  if (format_ !== undefined && format_ !== null) {
    if (typeof format_ !== "string") return wrong("format", "a string", format_);
    if (hints !== undefined && format_ !== "markdown" && format_ !== "text" && format_ !== "html") hints.push(unlisted("format", format_, ["markdown","text","html"]));
  }
  const is_complete_ = value["is_complete"];
  if (is_complete_ !== undefined && is_complete_ !== null) {
    if (typeof is_complete_ !== "boolean") return wrong("is_complete", "true or false", is_complete_);
  }
  return undefined;
}

function checkInner11(value: Value): Fault | undefined {
  const data_type_ = value["data_type"];
  if (typeof data_type_ !== "string") return wrong("data_type", "one of dataframe, chart, image, custom", data_type_);
  if (data_type_ !== "dataframe" && data_type_ !== "chart" && data_type_ !== "image" && data_type_ !== "custom") return outside("data_type", "one of dataframe, chart, image, custom", data_type_);
  const data_ = value["data"];
  if (typeof data_ !== "object" || data_ === null || Array.isArray(data_)) return wrong("data", "an object", data_);
  if (isDeeperThan(data_)) return tooDeep("data");
  const metadata_ = value["metadata"];
  if (metadata_ !== undefined && metadata_ !== null) {
    if (typeof metadata_ !== "object" || metadata_ === null || Array.isArray(metadata_)) return wrong("metadata", "an object", metadata_);
    if (isDeeperThan(metadata_)) return tooDeep("metadata");
  }
  return undefined;
}

function checkInner12(value: Value): Fault | undefined {
  const error_type_ = value["error_type"];
  if (typeof error_type_ !== "string") return wrong("error_type", "one of validation, execution, timeout, system", error_type_);
  if (error_type_ !== "validation" && error_type_ !== "execution" && error_type_ !== "timeout" && error_type_ !== "system") return outside("error_type", "one of validation, execution, timeout, system", error_type_);
  const message_ = value["message"];
  if (typeof message_ !== "string") return wrong("message", "a string", message_);
  const details_ = value["details"];
  if (details_ !== undefined && details_ !== null) {
    if (typeof details_ !== "object" || details_ === null || Array.isArray(details_)) return wrong("details", "an object", details_);
    if (isDeeperThan(details_)) return tooDeep("details");
  }
  const recoverable_ = value["recoverable"];
  if (recoverable_ !== undefined && recoverable_ !== null) {
    if (typeof recoverable_ !== "boolean") return wrong("recoverable", "true or false", recoverable_);
  }
  const code_ = value["code"];
  if (code_ !== undefined && code_ !== null) {
    if (typeof code_ !== "string") return wrong("code", "a string", code_);
  }
  const stage_ = value["stage"];
  if (stage_ !== undefined && stage_ !== null) {
    if (typeof stage_ !== "string") return wrong("stage", "a string", stage_);
  }
  return undefined;
}

function checkInner13(value: Value): Fault | undefined {
  const total_tokens_ = value["total_tokens"];
  if (total_tokens_ !== undefined && total_tokens_ !== null) {
    if (typeof total_tokens_ !== "number") return wrong("total_tokens", "a whole number", total_tokens_);
    if (!Number.isInteger(total_tokens_) || total_tokens_ < 0 || total_tokens_ > 9007199254740991) return outside("total_tokens", "a whole number from 0 to 2^53-1", total_tokens_);
  }
  const duration_ms_ = value["duration_ms"];
  if (duration_ms_ !== undefined && duration_ms_ !== null) {
    if (typeof duration_ms_ !== "number") return wrong("duration_ms", "a finite number", duration_ms_);
    if (!Number.isFinite(duration_ms_) || duration_ms_ < 0) return outside("duration_ms", "a finite number, at least 0", duration_ms_);
  }
  const tool_calls_ = value["tool_calls"];
  if (tool_calls_ !== undefined && tool_calls_ !== null) {
    if (typeof tool_calls_ !== "number") return wrong("tool_calls", "a whole number", tool_calls_);
    if (!Number.isInteger(tool_calls_) || tool_calls_ < 0 || tool_calls_ > 9007199254740991) return outside("tool_calls", "a whole number from 0 to 2^53-1", tool_calls_);
  }
  return undefined;
}

function checkInner14(value: Value): Fault | undefined {
  const status_ = value["status"];
  if (typeof status_ !== "string") return wrong("status", "one of completed, error, cancelled", status_);
  if (status_ !== "completed" && status_ !== "error" && status_ !== "cancelled") return outside("status", "one of completed, error, cancelled", status_);
  const summary_ = value["summary"];
  if (summary_ !== undefined && summary_ !== null) {
    if (typeof summary_ !== "object" || summary_ === null || Array.isArray(summary_)) return wrong("summary", "an object", summary_);
    {
      const fault = checkInner13(summary_ as Value);
      if (fault !== undefined) return within("summary", fault);
    }
  }
  return undefined;
}

function checkSessionStartFrame(value: Value, _hints?: Hint[]): Fault | undefined {
  const data_ = value["data"];
  if (typeof data_ !== "object" || data_ === null || Array.isArray(data_)) return wrong("data", "an object", data_);
  {
    const fault = checkInner1(data_ as Value);
    if (fault !== undefined) return within("data", fault);
  }
  const metadata_ = value["metadata"];
  if (typeof metadata_ !== "object" || metadata_ === null || Array.isArray(metadata_)) return wrong("metadata", "an object", metadata_);
  {
    const fault = checkInner2(metadata_ as Value);
    if (fault !== undefined) return within("metadata", fault);
  }
  return undefined;
}

function checkThinkingFrame(value: Value, hints?: Hint[]): Fault | undefined {
  const data_ = value["data"];
  if (typeof data_ !== "object" || data_ === null || Array.isArray(data_)) return wrong("data", "an object", data_);
  {
    const before = hints?.length ?? 0;
    const fault = checkInner3(data_ as Value, hints);
    if (hints !== undefined && hints.length > before) moveHints(hints, before, "data");
    if (fault !== undefined) return within("data", fault);
  }
  const metadata_ = value["metadata"];
  if (typeof metadata_ !== "object" || metadata_ === null || Array.isArray(metadata_)) return wrong("metadata", "an object", metadata_);
  {
    const fault = checkInner4(metadata_ as Value);
    if (fault !== undefined) return within("metadata", fault);
  }
  return undefined;
}

function checkToolCallStartFrame(value: Value, _hints?: Hint[]): Fault | undefined {
  const data_ = value["data"];
  if (typeof data_ !== "object" || data_ === null || Array.isArray(data_)) return wrong("data", "an object", data_);
  {
    const fault = checkInner5(data_ as Value);
    if (fault !== undefined) return within("data", fault);
  }
  const metadata_ = value["metadata"];
  if (typeof metadata_ !== "object" || metadata_ === null || Array.isArray(metadata_)) return wrong("metadata", "an object", metadata_);
  {
    const fault = checkInner4(metadata_ as Value);
    if (fault !== undefined) return within("metadata", fault);
  }
  return undefined;
}

function checkToolCallProgressFrame(value: Value, _hints?: Hint[]): Fault | undefined {
  const data_ = value["data"];
  if (typeof data_ !== "object" || data_ === null || Array.isArray(data_)) return wrong("data", "an object", data_);
  {
    const fault = checkInner6(data_ as Value);
    if (fault !== undefined) return within("data", fault);
  }
  const metadata_ = value["metadata"];
  if (typeof metadata_ !== "object" || metadata_ === null || Array.isArray(metadata_)) return wrong("metadata", "an object", metadata_);
  {
    const fault = checkInner4(metadata_ as Value);
    if (fault !== undefined) return within("metadata", fault);
  }
  return undefined;
}

function checkToolCallEndFrame(value: Value, _hints?: Hint[]): Fault | undefined {
  const data_ = value["data"];
  if (typeof data_ !== "object" || data_ === null || Array.isArray(data_)) return wrong("data", "an object", data_);
  {
    const fault = checkInner8(data_ as Value);
    if (fault !== undefined) return within("data", fault);
  }
  const metadata_ = value["metadata"];
  if (typeof metadata_ !== "object" || metadata_ === null || Array.isArray(metadata_)) return wrong("metadata", "an object", metadata_);
  {
    const fault = checkInner9(metadata_ as Value);
    if (fault !== undefined) return within("metadata", fault);
  }
  return undefined;
}

function checkContentFrame(value: Value, hints?: Hint[]): Fault | undefined {
  const data_ = value["data"];
  if (typeof data_ !== "object" || data_ === null || Array.isArray(data_)) return wrong("data", "an object", data_);
  {
    const before = hints?.length ?? 0;
    const fault = checkInner10(data_ as Value, hints);
    if (hints !== undefined && hints.length > before) moveHints(hints, before, "data");
    if (fault !== undefined) return within("data", fault);
  }
  const metadata_ = value["metadata"];
  if (typeof metadata_ !== "object" || metadata_ === null || Array.isArray(metadata_)) return wrong("metadata", "an object", metadata_);
  {
    const fault = checkInner4(metadata_ as Value);
    if (fault !== undefined) return within("metadata", fault);
  }
  return undefined;
}

function checkDataFrame(value: Value, _hints?: Hint[]): Fault | undefined {
  const data_ = value["data"];
  if (typeof data_ !== "object" || data_ === null || Array.isArray(data_)) return wrong("data", "an object", data_);
  {
    const fault = checkInner11(data_ as Value);
    if (fault !== undefined) return within("data", fault);
  }
  const metadata_ = value["metadata"];
  if (typeof metadata_ !== "object" || metadata_ === null || Array.isArray(metadata_)) return wrong("metadata", "an object", metadata_);
  {
    const fault = checkInner4(metadata_ as Value);
    if (fault !== undefined) return within("metadata", fault);
  }
  return undefined;
}

function checkErrorFrame(value: Value, _hints?: Hint[]): Fault | undefined {
  const data_ = value["data"];
  if (typeof data_ !== "object" || data_ === null || Array.isArray(data_)) return wrong("data", "an object", data_);
  {
    const fault = checkInner12(data_ as Value);
    if (fault !== undefined) return within("data", fault);
  }
  const metadata_ = value["metadata"];
  if (typeof metadata_ !== "object" || metadata_ === null || Array.isArray(metadata_)) return wrong("metadata", "an object", metadata_);
  {
    const fault = checkInner4(metadata_ as Value);
    if (fault !== undefined) return within("metadata", fault);
  }
  return undefined;
}

function checkSessionEndFrame(value: Value, _hints?: Hint[]): Fault | undefined {
  const data_ = value["data"];
  if (typeof data_ !== "object" || data_ === null || Array.isArray(data_)) return wrong("data", "an object", data_);
  {
    const fault = checkInner14(data_ as Value);
    if (fault !== undefined) return within("data", fault);
  }
  const metadata_ = value["metadata"];
  if (typeof metadata_ !== "object" || metadata_ === null || Array.isArray(metadata_)) return wrong("metadata", "an object", metadata_);
  {
    const fault = checkInner4(metadata_ as Value);
    if (fault !== undefined) return within("metadata", fault);
  }
  return undefined;
}

/** The code that handles one type. */
interface Code {
  /** The first thing wrong with the fields. */
  check(value: Value, hints?: Hint[]): Fault | undefined;
}

const CODE: ReadonlyMap<unknown, Code> = new Map<string, Code>([
  ["session_start", { check: checkSessionStartFrame }],
  ["thinking", { check: checkThinkingFrame }],
  ["tool_call_start", { check: checkToolCallStartFrame }],
  ["tool_call_progress", { check: checkToolCallProgressFrame }],
  ["tool_call_end", { check: checkToolCallEndFrame }],
  ["content", { check: checkContentFrame }],
  ["data", { check: checkDataFrame }],
  ["error", { check: checkErrorFrame }],
  ["session_end", { check: checkSessionEndFrame }],
]);

/** Checks the fields of a value whose `type` is known; undefined when they fit, and when the type is none of these. */
export function findEngineFrameFault(given: object, hints?: Hint[]): Fault | undefined {
  const value = given as Value;
  return CODE.get(value["type"])?.check(value, hints);
}
