/**
 * Generated from the declarations by `npm run generate`; edit those instead.
 * The types of the vocabulary, and the code that checks a value against them.
 */
import { type Fault, type Hint, outside, tooDeep, unlisted, within, wrong } from "../../protocol/fault.ts";
import { isDeeperThan, type JsonObject } from "../../protocol/json.ts";

type Value = { readonly [field: string]: unknown };

/** A request began (002). */
export interface RequestStartFrame {
  readonly type: "request_start";
  /** When it happened, in seconds */
  readonly ts: number;
  /** Path the run was started on */
  readonly source: "execute" | "stream";
  /** Rounds of the agent so far */
  readonly iteration?: number;
  /** Id of the request */
  readonly request_id?: string;
  /** The event's own fields once more */
  readonly metadata?: JsonObject;
  /** What the user said */
  readonly input: string;
}

/** Documents were retrieved (002). */
export interface RetrievalCompleteFrame {
  readonly type: "retrieval_complete";
  /** When it happened, in seconds */
  readonly ts: number;
  /** Path the run was started on */
  readonly source: "execute" | "stream";
  /** Rounds of the agent so far */
  readonly iteration?: number;
  /** Id of the request */
  readonly request_id?: string;
  /** The event's own fields once more */
  readonly metadata?: JsonObject;
  /** How many came back */
  readonly doc_count: number;
}

/** The context was compressed (002). */
export interface CompressionAppliedFrame {
  readonly type: "compression_applied";
  /** When it happened, in seconds */
  readonly ts: number;
  /** Path the run was started on */
  readonly source: "execute" | "stream";
  /** Rounds of the agent so far */
  readonly iteration?: number;
  /** Id of the request */
  readonly request_id?: string;
  /** The event's own fields once more */
  readonly metadata?: JsonObject;
  /** Tokens before */
  readonly before_tokens: number;
  /** Tokens after */
  readonly after_tokens: number;
}

/** The model decided to call tools (002). */
export interface ToolCallsStartFrame {
  readonly type: "tool_calls_start";
  /** When it happened, in seconds */
  readonly ts: number;
  /** Path the run was started on */
  readonly source: "execute" | "stream";
  /** Rounds of the agent so far */
  readonly iteration?: number;
  /** Id of the request */
  readonly request_id?: string;
  /** The event's own fields once more */
  readonly metadata?: JsonObject;
  /** The calls */
  readonly tool_calls: readonly { readonly id: string; readonly name: string }[];
}

/** One tool is done (002). */
export interface ToolResultFrame {
  readonly type: "tool_result";
  /** When it happened, in seconds */
  readonly ts: number;
  /** Path the run was started on */
  readonly source: "execute" | "stream";
  /** Rounds of the agent so far */
  readonly iteration?: number;
  /** Id of the request */
  readonly request_id?: string;
  /** The event's own fields once more */
  readonly metadata?: JsonObject;
  /** Id of the call */
  readonly tool_call_id: string;
  /** What it returned */
  readonly content: string;
}

/** A piece of the answer (002). */
export interface TextDeltaFrame {
  readonly type: "text_delta";
  /** When it happened, in seconds */
  readonly ts: number;
  /** Path the run was started on */
  readonly source: "execute" | "stream";
  /** Rounds of the agent so far */
  readonly iteration?: number;
  /** Id of the request */
  readonly request_id?: string;
  /** The event's own fields once more */
  readonly metadata?: JsonObject;
  /** The piece */
  readonly content: string;
}

/** The agent has answered (002). */
export interface AgentFinishFrame {
  readonly type: "agent_finish";
  /** When it happened, in seconds */
  readonly ts: number;
  /** Path the run was started on */
  readonly source: "execute" | "stream";
  /** Rounds of the agent so far */
  readonly iteration?: number;
  /** Id of the request */
  readonly request_id?: string;
  /** The event's own fields once more */
  readonly metadata?: JsonObject;
  /** The answer */
  readonly content: string;
  /** How it ended; completed when absent */
  readonly status?: "completed" | "error" | "cancelled";
}

/** Something went wrong (002). */
export interface ErrorFrame {
  readonly type: "error";
  /** When it happened, in seconds */
  readonly ts: number;
  /** Path the run was started on */
  readonly source: "execute" | "stream";
  /** Rounds of the agent so far */
  readonly iteration?: number;
  /** Id of the request */
  readonly request_id?: string;
  /** The event's own fields once more */
  readonly metadata?: JsonObject;
  /** Where */
  readonly stage: "llm_generate" | "llm_stream" | "llm_generate_with_tools" | "tool_execute" | "iteration_limit" | (string & {});
  /** What, without a stack */
  readonly message: string;
}

/** One of all the above, told apart by `type`. */
export type StreamEventFrame =
  | RequestStartFrame
  | RetrievalCompleteFrame
  | CompressionAppliedFrame
  | ToolCallsStartFrame
  | ToolResultFrame
  | TextDeltaFrame
  | AgentFinishFrame
  | ErrorFrame;

/** From the type to its interface. */
export interface StreamEventFrameMap {
  readonly "request_start": RequestStartFrame;
  readonly "retrieval_complete": RetrievalCompleteFrame;
  readonly "compression_applied": CompressionAppliedFrame;
  readonly "tool_calls_start": ToolCallsStartFrame;
  readonly "tool_result": ToolResultFrame;
  readonly "text_delta": TextDeltaFrame;
  readonly "agent_finish": AgentFinishFrame;
  readonly "error": ErrorFrame;
}

function checkInner1(value: Value): Fault | undefined {
  const id_ = value["id"];
  if (typeof id_ !== "string") return wrong("id", "a string", id_);
  const name_ = value["name"];
  if (typeof name_ !== "string") return wrong("name", "a string", name_);
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

function checkRequestStartFrame(value: Value, _hints?: Hint[]): Fault | undefined {
  const ts_ = value["ts"];
  if (typeof ts_ !== "number") return wrong("ts", "a finite number", ts_);
  if (!Number.isFinite(ts_)) return outside("ts", "a finite number", ts_);
  const source_ = value["source"];
  if (typeof source_ !== "string") return wrong("source", "one of execute, stream", source_);
  if (source_ !== "execute" && source_ !== "stream") return outside("source", "one of execute, stream", source_);
  const iteration_ = value["iteration"];
  if (iteration_ !== undefined && iteration_ !== null) {
    if (typeof iteration_ !== "number") return wrong("iteration", "a whole number", iteration_);
    if (!Number.isInteger(iteration_) || iteration_ < 0 || iteration_ > 9007199254740991) return outside("iteration", "a whole number from 0 to 2^53-1", iteration_);
  }
  const request_id_ = value["request_id"];
  if (request_id_ !== undefined && request_id_ !== null) {
    if (typeof request_id_ !== "string") return wrong("request_id", "a string", request_id_);
  }
  const metadata_ = value["metadata"];
  if (metadata_ !== undefined && metadata_ !== null) {
    if (typeof metadata_ !== "object" || metadata_ === null || Array.isArray(metadata_)) return wrong("metadata", "an object", metadata_);
    if (isDeeperThan(metadata_)) return tooDeep("metadata");
  }
  const input_ = value["input"];
  if (typeof input_ !== "string") return wrong("input", "a string", input_);
  return undefined;
}

function checkRetrievalCompleteFrame(value: Value, _hints?: Hint[]): Fault | undefined {
  const ts_ = value["ts"];
  if (typeof ts_ !== "number") return wrong("ts", "a finite number", ts_);
  if (!Number.isFinite(ts_)) return outside("ts", "a finite number", ts_);
  const source_ = value["source"];
  if (typeof source_ !== "string") return wrong("source", "one of execute, stream", source_);
  if (source_ !== "execute" && source_ !== "stream") return outside("source", "one of execute, stream", source_);
  const iteration_ = value["iteration"];
  if (iteration_ !== undefined && iteration_ !== null) {
    if (typeof iteration_ !== "number") return wrong("iteration", "a whole number", iteration_);
    if (!Number.isInteger(iteration_) || iteration_ < 0 || iteration_ > 9007199254740991) return outside("iteration", "a whole number from 0 to 2^53-1", iteration_);
  }
  const request_id_ = value["request_id"];
  if (request_id_ !== undefined && request_id_ !== null) {
    if (typeof request_id_ !== "string") return wrong("request_id", "a string", request_id_);
  }
  const metadata_ = value["metadata"];
  if (metadata_ !== undefined && metadata_ !== null) {
    if (typeof metadata_ !== "object" || metadata_ === null || Array.isArray(metadata_)) return wrong("metadata", "an object", metadata_);
    if (isDeeperThan(metadata_)) return tooDeep("metadata");
  }
  const doc_count_ = value["doc_count"];
  if (typeof doc_count_ !== "number") return wrong("doc_count", "a whole number", doc_count_);
  if (!Number.isInteger(doc_count_) || doc_count_ < 0 || doc_count_ > 9007199254740991) return outside("doc_count", "a whole number from 0 to 2^53-1", doc_count_);
  return undefined;
}

function checkCompressionAppliedFrame(value: Value, _hints?: Hint[]): Fault | undefined {
  const ts_ = value["ts"];
  if (typeof ts_ !== "number") return wrong("ts", "a finite number", ts_);
  if (!Number.isFinite(ts_)) return outside("ts", "a finite number", ts_);
  const source_ = value["source"];
  if (typeof source_ !== "string") return wrong("source", "one of execute, stream", source_);
  if (source_ !== "execute" && source_ !== "stream") return outside("source", "one of execute, stream", source_);
  const iteration_ = value["iteration"];
  if (iteration_ !== undefined && iteration_ !== null) {
    if (typeof iteration_ !== "number") return wrong("iteration", "a whole number", iteration_);
    if (!Number.isInteger(iteration_) || iteration_ < 0 || iteration_ > 9007199254740991) return outside("iteration", "a whole number from 0 to 2^53-1", iteration_);
  }
  const request_id_ = value["request_id"];
  if (request_id_ !== undefined && request_id_ !== null) {
    if (typeof request_id_ !== "string") return wrong("request_id", "a string", request_id_);
  }
  const metadata_ = value["metadata"];
  if (metadata_ !== undefined && metadata_ !== null) {
    if (typeof metadata_ !== "object" || metadata_ === null || Array.isArray(metadata_)) return wrong("metadata", "an object", metadata_);
    if (isDeeperThan(metadata_)) return tooDeep("metadata");
  }
  const before_tokens_ = value["before_tokens"];
  if (typeof before_tokens_ !== "number") return wrong("before_tokens", "a whole number", before_tokens_);
  if (!Number.isInteger(before_tokens_) || before_tokens_ < 0 || before_tokens_ > 9007199254740991) return outside("before_tokens", "a whole number from 0 to 2^53-1", before_tokens_);
  const after_tokens_ = value["after_tokens"];
  if (typeof after_tokens_ !== "number") return wrong("after_tokens", "a whole number", after_tokens_);
  if (!Number.isInteger(after_tokens_) || after_tokens_ < 0 || after_tokens_ > 9007199254740991) return outside("after_tokens", "a whole number from 0 to 2^53-1", after_tokens_);
  return undefined;
}

function checkToolCallsStartFrame(value: Value, _hints?: Hint[]): Fault | undefined {
  const ts_ = value["ts"];
  if (typeof ts_ !== "number") return wrong("ts", "a finite number", ts_);
  if (!Number.isFinite(ts_)) return outside("ts", "a finite number", ts_);
  const source_ = value["source"];
  if (typeof source_ !== "string") return wrong("source", "one of execute, stream", source_);
  if (source_ !== "execute" && source_ !== "stream") return outside("source", "one of execute, stream", source_);
  const iteration_ = value["iteration"];
  if (iteration_ !== undefined && iteration_ !== null) {
    if (typeof iteration_ !== "number") return wrong("iteration", "a whole number", iteration_);
    if (!Number.isInteger(iteration_) || iteration_ < 0 || iteration_ > 9007199254740991) return outside("iteration", "a whole number from 0 to 2^53-1", iteration_);
  }
  const request_id_ = value["request_id"];
  if (request_id_ !== undefined && request_id_ !== null) {
    if (typeof request_id_ !== "string") return wrong("request_id", "a string", request_id_);
  }
  const metadata_ = value["metadata"];
  if (metadata_ !== undefined && metadata_ !== null) {
    if (typeof metadata_ !== "object" || metadata_ === null || Array.isArray(metadata_)) return wrong("metadata", "an object", metadata_);
    if (isDeeperThan(metadata_)) return tooDeep("metadata");
  }
  const tool_calls_ = value["tool_calls"];
  if (!Array.isArray(tool_calls_)) return wrong("tool_calls", "an array", tool_calls_);
  {
    const fault = checkInner2(tool_calls_);
    if (fault !== undefined) return within("tool_calls", fault);
  }
  return undefined;
}

function checkToolResultFrame(value: Value, _hints?: Hint[]): Fault | undefined {
  const ts_ = value["ts"];
  if (typeof ts_ !== "number") return wrong("ts", "a finite number", ts_);
  if (!Number.isFinite(ts_)) return outside("ts", "a finite number", ts_);
  const source_ = value["source"];
  if (typeof source_ !== "string") return wrong("source", "one of execute, stream", source_);
  if (source_ !== "execute" && source_ !== "stream") return outside("source", "one of execute, stream", source_);
  const iteration_ = value["iteration"];
  if (iteration_ !== undefined && iteration_ !== null) {
    if (typeof iteration_ !== "number") return wrong("iteration", "a whole number", iteration_);
    if (!Number.isInteger(iteration_) || iteration_ < 0 || iteration_ > 9007199254740991) return outside("iteration", "a whole number from 0 to 2^53-1", iteration_);
  }
  const request_id_ = value["request_id"];
  if (request_id_ !== undefined && request_id_ !== null) {
    if (typeof request_id_ !== "string") return wrong("request_id", "a string", request_id_);
  }
  const metadata_ = value["metadata"];
  if (metadata_ !== undefined && metadata_ !== null) {
    if (typeof metadata_ !== "object" || metadata_ === null || Array.isArray(metadata_)) return wrong("metadata", "an object", metadata_);
    if (isDeeperThan(metadata_)) return tooDeep("metadata");
  }
  const tool_call_id_ = value["tool_call_id"];
  if (typeof tool_call_id_ !== "string") return wrong("tool_call_id", "a string", tool_call_id_);
  const content_ = value["content"];
  if (typeof content_ !== "string") return wrong("content", "a string", content_);
  return undefined;
}

function checkTextDeltaFrame(value: Value, _hints?: Hint[]): Fault | undefined {
  const ts_ = value["ts"];
  if (typeof ts_ !== "number") return wrong("ts", "a finite number", ts_);
  if (!Number.isFinite(ts_)) return outside("ts", "a finite number", ts_);
  const source_ = value["source"];
  if (typeof source_ !== "string") return wrong("source", "one of execute, stream", source_);
  if (source_ !== "execute" && source_ !== "stream") return outside("source", "one of execute, stream", source_);
  const iteration_ = value["iteration"];
  if (iteration_ !== undefined && iteration_ !== null) {
    if (typeof iteration_ !== "number") return wrong("iteration", "a whole number", iteration_);
    if (!Number.isInteger(iteration_) || iteration_ < 0 || iteration_ > 9007199254740991) return outside("iteration", "a whole number from 0 to 2^53-1", iteration_);
  }
  const request_id_ = value["request_id"];
  if (request_id_ !== undefined && request_id_ !== null) {
    if (typeof request_id_ !== "string") return wrong("request_id", "a string", request_id_);
  }
  const metadata_ = value["metadata"];
  if (metadata_ !== undefined && metadata_ !== null) {
    if (typeof metadata_ !== "object" || metadata_ === null || Array.isArray(metadata_)) return wrong("metadata", "an object", metadata_);
    if (isDeeperThan(metadata_)) return tooDeep("metadata");
  }
  const content_ = value["content"];
  if (typeof content_ !== "string") return wrong("content", "a string", content_);
  return undefined;
}

function checkAgentFinishFrame(value: Value, _hints?: Hint[]): Fault | undefined {
  const ts_ = value["ts"];
  if (typeof ts_ !== "number") return wrong("ts", "a finite number", ts_);
  if (!Number.isFinite(ts_)) return outside("ts", "a finite number", ts_);
  const source_ = value["source"];
  if (typeof source_ !== "string") return wrong("source", "one of execute, stream", source_);
  if (source_ !== "execute" && source_ !== "stream") return outside("source", "one of execute, stream", source_);
  const iteration_ = value["iteration"];
  if (iteration_ !== undefined && iteration_ !== null) {
    if (typeof iteration_ !== "number") return wrong("iteration", "a whole number", iteration_);
    if (!Number.isInteger(iteration_) || iteration_ < 0 || iteration_ > 9007199254740991) return outside("iteration", "a whole number from 0 to 2^53-1", iteration_);
  }
  const request_id_ = value["request_id"];
  if (request_id_ !== undefined && request_id_ !== null) {
    if (typeof request_id_ !== "string") return wrong("request_id", "a string", request_id_);
  }
  const metadata_ = value["metadata"];
  if (metadata_ !== undefined && metadata_ !== null) {
    if (typeof metadata_ !== "object" || metadata_ === null || Array.isArray(metadata_)) return wrong("metadata", "an object", metadata_);
    if (isDeeperThan(metadata_)) return tooDeep("metadata");
  }
  const content_ = value["content"];
  if (typeof content_ !== "string") return wrong("content", "a string", content_);
  const status_ = value["status"];
  if (status_ !== undefined && status_ !== null) {
    if (typeof status_ !== "string") return wrong("status", "one of completed, error, cancelled", status_);
    if (status_ !== "completed" && status_ !== "error" && status_ !== "cancelled") return outside("status", "one of completed, error, cancelled", status_);
  }
  return undefined;
}

function checkErrorFrame(value: Value, hints?: Hint[]): Fault | undefined {
  const ts_ = value["ts"];
  if (typeof ts_ !== "number") return wrong("ts", "a finite number", ts_);
  if (!Number.isFinite(ts_)) return outside("ts", "a finite number", ts_);
  const source_ = value["source"];
  if (typeof source_ !== "string") return wrong("source", "one of execute, stream", source_);
  if (source_ !== "execute" && source_ !== "stream") return outside("source", "one of execute, stream", source_);
  const iteration_ = value["iteration"];
  if (iteration_ !== undefined && iteration_ !== null) {
    if (typeof iteration_ !== "number") return wrong("iteration", "a whole number", iteration_);
    if (!Number.isInteger(iteration_) || iteration_ < 0 || iteration_ > 9007199254740991) return outside("iteration", "a whole number from 0 to 2^53-1", iteration_);
  }
  const request_id_ = value["request_id"];
  if (request_id_ !== undefined && request_id_ !== null) {
    if (typeof request_id_ !== "string") return wrong("request_id", "a string", request_id_);
  }
  const metadata_ = value["metadata"];
  if (metadata_ !== undefined && metadata_ !== null) {
    if (typeof metadata_ !== "object" || metadata_ === null || Array.isArray(metadata_)) return wrong("metadata", "an object", metadata_);
    if (isDeeperThan(metadata_)) return tooDeep("metadata");
  }
  const stage_ = value["stage"];
  if (typeof stage_ !== "string") return wrong("stage", "a string", stage_);
  if (hints !== undefined && stage_ !== "llm_generate" && stage_ !== "llm_stream" && stage_ !== "llm_generate_with_tools" && stage_ !== "tool_execute" && stage_ !== "iteration_limit") hints.push(unlisted("stage", stage_, ["llm_generate","llm_stream","llm_generate_with_tools","tool_execute","iteration_limit"]));
  const message_ = value["message"];
  if (typeof message_ !== "string") return wrong("message", "a string", message_);
  return undefined;
}

/** The code that handles one type. */
interface Code {
  /** The first thing wrong with the fields. */
  check(value: Value, hints?: Hint[]): Fault | undefined;
}

const CODE: ReadonlyMap<unknown, Code> = new Map<string, Code>([
  ["request_start", { check: checkRequestStartFrame }],
  ["retrieval_complete", { check: checkRetrievalCompleteFrame }],
  ["compression_applied", { check: checkCompressionAppliedFrame }],
  ["tool_calls_start", { check: checkToolCallsStartFrame }],
  ["tool_result", { check: checkToolResultFrame }],
  ["text_delta", { check: checkTextDeltaFrame }],
  ["agent_finish", { check: checkAgentFinishFrame }],
  ["error", { check: checkErrorFrame }],
]);

/** Checks the fields of a value whose `type` is known; undefined when they fit, and when the type is none of these. */
export function findStreamEventFrameFault(given: object, hints?: Hint[]): Fault | undefined {
  const value = given as Value;
  return CODE.get(value["type"])?.check(value, hints);
}
