/**
 * Generated from the declarations by `npm run generate`; edit those instead.
 * The types of the vocabulary, and the forms a value is checked against.
 */
import { findFault } from "../../protocol/check-form.ts";
import type { Fault, Hint } from "../../protocol/fault.ts";
import { createFormFinder, type Form } from "../../protocol/form.ts";
import type { JsonObject } from "../../protocol/json.ts";

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
  readonly stage: "llm_generate" | "llm_stream" | "llm_generate_with_tools" | "tool_execute" | "iteration_limit" | "retrieval" | "compression" | (string & {});
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

/** From the type to its form, as a text. */
export const STREAM_EVENT_FRAME_FORMS = {
  "request_start": "002#input:s",
  "retrieval_complete": "002#doc_count:i0",
  "compression_applied": "002#before_tokens:i0 after_tokens:i0",
  "tool_calls_start": "002#tool_calls:[{id:s name:s}",
  "tool_result": "002#tool_call_id:s content:s",
  "text_delta": "002#content:s",
  "agent_finish": "002#content:s status?=completed|error|cancelled",
  "error": "002#stage:~llm_generate|llm_stream|llm_generate_with_tools|tool_execute|iteration_limit|retrieval|compression message:s",
};

export const findStreamEventFrameForm: (type: unknown) => Form | undefined = /* @__PURE__ */ createFormFinder(STREAM_EVENT_FRAME_FORMS, "ts:n source:=execute|stream iteration?i0 request_id?s metadata?m");

/** Checks the fields of a value whose `type` is known; undefined when they fit, and when the type is none of these. */
export function findStreamEventFrameFault(given: object, hints?: Hint[]): Fault | undefined {
  const value = given as Value;
  const form = findStreamEventFrameForm(value["type"]);
  return form === undefined ? undefined : findFault(form.fields, value, hints);
}
