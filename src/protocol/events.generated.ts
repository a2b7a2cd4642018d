/**
 * Generated from the declarations by `npm run generate`; edit those instead.
 * The types of the vocabulary, and the code that checks a value against them.
 */
import { type Fault, type Hint, outside, tooDeep, unlisted, within, wrong } from "./fault.ts";
import { isDeeperThan, type Json, type JsonObject } from "./json.ts";

type Value = { readonly [field: string]: unknown };

/** An agent run started; before its first node_enter (001 §4.2). */
export interface RunStartEvent {
  readonly type: "run_start";
  /** Id of the run: one user turn */
  readonly run_id?: string;
  /** What the user said */
  readonly message?: string;
  /** Kind of agent, e.g. react, tot, got */
  readonly agent?: string;
  /** True: ids of this stream grow by exactly 1, so a jump is a gap */
  readonly contiguous?: boolean;
  /** Path of 002 the run was started on */
  readonly source?: "execute" | "stream";
  /** The caller's id for the request */
  readonly request_id?: string;
}

/** A node run started (001 §4.2). */
export interface NodeEnterEvent {
  readonly type: "node_enter";
  /** Name of the node, e.g. think */
  readonly id: string;
}

/** A node run ended (001 §4.2). */
export interface NodeExitEvent {
  readonly type: "node_exit";
  /** Name of the node */
  readonly id: string;
  /** "Ok", or {"Err": text} */
  readonly result: "Ok" | { readonly Err: string };
}

/** A piece of the model's message (001 §4.2). */
export interface MessageChunkEvent {
  readonly type: "message_chunk";
  /** The piece */
  readonly content: string;
  /** Name of the node that produced it */
  readonly id: string;
  /** answer (when absent) is for the user; thought is inner text of a search */
  readonly channel?: "answer" | "thought";
  /** How to show it; markdown when absent */
  readonly format?: "markdown" | "text" | "html" | (string & {});
  /** True on the last piece of a message */
  readonly is_complete?: boolean;
}

/** Tokens used by one model call (001 §4.2). */
export interface UsageEvent {
  readonly type: "usage";
  /** Tokens sent */
  readonly prompt_tokens: number;
  /** Tokens received */
  readonly completion_tokens: number;
  /** Both together */
  readonly total_tokens: number;
  /** The model call */
  readonly llm_call_id?: string;
}

/** Snapshot of the whole graph state (001 §4.2). */
export interface ValuesEvent {
  readonly type: "values";
  /** The state; its shape is the agent's */
  readonly state: Json;
}

/** State after a node's result was merged (001 §4.2). */
export interface UpdatesEvent {
  readonly type: "updates";
  /** Name of the node */
  readonly id: string;
  /** The channels it wrote, after the merge */
  readonly state: Json;
}

/** Any JSON of the application's own (001 §4.2). */
export interface CustomEvent {
  readonly type: "custom";
  /** The value */
  readonly value: Json;
}

/** The run can be resumed or forked from here (001 §4.2). */
export interface CheckpointEvent {
  readonly type: "checkpoint";
  /** Id of the checkpoint */
  readonly checkpoint_id: string;
  /** ISO 8601 time */
  readonly timestamp: string;
  /** Super-step: 0 for the input, then +1 */
  readonly step: number;
  /** The state held */
  readonly state: Json;
  /** The session */
  readonly thread_id?: string;
  /** Path of the subgraph, empty at the root */
  readonly checkpoint_ns?: string;
}

/** Candidate thoughts were generated (001 §4.2). */
export interface TotExpandEvent {
  readonly type: "tot_expand";
  /** The thoughts */
  readonly candidates: readonly string[];
  /** Ids of the thoughts, in the same order */
  readonly ids?: readonly string[];
  /** Id of the thought they continue */
  readonly parent?: string;
  /** Depth of these thoughts; the root is 0 */
  readonly depth?: number;
}

/** Candidate thoughts were scored (001 §4.2). */
export interface TotEvaluateEvent {
  readonly type: "tot_evaluate";
  /** 0-based index of the best */
  readonly chosen: number;
  /** One score per candidate */
  readonly scores: readonly number[];
  /** Ids of the thoughts, in the same order */
  readonly ids?: readonly string[];
  /** Ids that stay in the search */
  readonly kept?: readonly string[];
  /** Depth of these thoughts; the root is 0 */
  readonly depth?: number;
}

/** The search gave up a branch (001 §4.2). */
export interface TotBacktrackEvent {
  readonly type: "tot_backtrack";
  /** Why */
  readonly reason: string;
  /** Depth it returned to */
  readonly to_depth: number;
  /** Id of the thought given up */
  readonly from?: string;
  /** Id of the thought returned to */
  readonly to?: string;
}

/** The graph of thoughts was planned (001 §4.2). */
export interface GotPlanEvent {
  readonly type: "got_plan";
  /** How many nodes */
  readonly node_count: number;
  /** How many edges */
  readonly edge_count: number;
  /** Ids of the nodes */
  readonly node_ids: readonly string[];
  /** Pairs of ids, from → to */
  readonly edges?: readonly (readonly string[])[];
  /** What each node is about, in the order of node_ids */
  readonly labels?: readonly string[];
}

/** A node of the graph began (001 §4.2). */
export interface GotNodeStartEvent {
  readonly type: "got_node_start";
  /** Id of the graph's node */
  readonly id: string;
}

/** A node of the graph is done (001 §4.2). */
export interface GotNodeCompleteEvent {
  readonly type: "got_node_complete";
  /** Id of the graph's node */
  readonly id: string;
  /** Its result in short */
  readonly result_summary: string;
}

/** A node of the graph failed (001 §4.2). */
export interface GotNodeFailedEvent {
  readonly type: "got_node_failed";
  /** Id of the graph's node */
  readonly id: string;
  /** Why */
  readonly error: string;
}

/** A node was expanded into a subgraph (AGoT) (001 §4.2). */
export interface GotExpandEvent {
  readonly type: "got_expand";
  /** Id of the graph's node that grew */
  readonly node_id: string;
  /** How many nodes were added */
  readonly nodes_added: number;
  /** How many edges were added */
  readonly edges_added: number;
  /** Ids of the nodes added */
  readonly nodes?: readonly string[];
  /** Pairs of ids, from → to */
  readonly edges?: readonly (readonly string[])[];
}

/** A piece of a call's arguments as the model writes them (001 §4.2). */
export interface ToolCallChunkEvent {
  readonly type: "tool_call_chunk";
  /** Id of the call */
  readonly call_id?: string;
  /** Name of the tool */
  readonly name?: string;
  /** The next piece of JSON text */
  readonly arguments_delta: string;
  /** Tells parallel calls apart */
  readonly index?: number;
}

/** A complete call: the tool and all its arguments (001 §4.2). */
export interface ToolCallEvent {
  readonly type: "tool_call";
  /** Id of the call */
  readonly call_id?: string;
  /** Name of the tool */
  readonly name: string;
  /** The arguments */
  readonly arguments: JsonObject;
  /** What the call does, for people */
  readonly description?: string;
  /** Tells parallel calls apart */
  readonly index?: number;
  /** The model's text when it was not a JSON object */
  readonly raw_arguments?: string;
}

/** The tool began to run (001 §4.2). */
export interface ToolStartEvent {
  readonly type: "tool_start";
  /** Id of the call */
  readonly call_id?: string;
  /** Name of the tool */
  readonly name: string;
}

/** Something the tool printed; any number of times per call (001 §4.2). */
export interface ToolOutputEvent {
  readonly type: "tool_output";
  /** Id of the call */
  readonly call_id?: string;
  /** Name of the tool */
  readonly name: string;
  /** What it printed */
  readonly content: string;
}

/** The tool is done, or will not run (001 §4.2). */
export interface ToolEndEvent {
  readonly type: "tool_end";
  /** Id of the call */
  readonly call_id?: string;
  /** Name of the tool */
  readonly name: string;
  /** What the model is told */
  readonly result: string;
  /** True when it failed */
  readonly is_error: boolean;
  /** The result as data */
  readonly output?: Json;
  /** Code of the failure */
  readonly error_code?: string;
  /** How long it ran */
  readonly duration_ms?: number;
}

/** A call waits for the user's consent (001 §4.2). */
export interface ToolApprovalEvent {
  readonly type: "tool_approval";
  /** Id of the call */
  readonly call_id?: string;
  /** Name of the tool */
  readonly name: string;
  /** The arguments to consent to */
  readonly arguments: JsonObject;
  /** When it is rejected by itself, in milliseconds */
  readonly expires_at?: number;
}

/** The full assistant reply; the last frame of its run. It travels without `type` (001 §5). */
export interface ReplyEvent {
  readonly type: "reply";
  /** Full text of the reply */
  readonly reply: string;
}

/** The run is over, whatever happened; a completed run is followed by its reply and nothing else (001 §8). */
export interface RunEndEvent {
  readonly type: "run_end";
  /** How it ended */
  readonly status: "completed" | "error" | "cancelled";
  /** Totals of the run */
  readonly summary?: { readonly total_tokens?: number; readonly prompt_tokens?: number; readonly completion_tokens?: number; readonly duration_ms?: number; readonly tool_calls?: number };
  /** event_id of the run's run_start */
  readonly first_event_id?: number;
  /** event_id of the run's last frame, the reply included */
  readonly last_event_id?: number;
  /** How many frames the run has, run_end and reply included: the proof that none is missing */
  readonly frame_count?: number;
  /** Why it did not complete, for people */
  readonly reason?: string;
  /** Code of the reason */
  readonly code?: string;
}

/** A piece of the model's reasoning; never part of the answer (001 §8). */
export interface ReasoningChunkEvent {
  readonly type: "reasoning_chunk";
  /** The piece */
  readonly content: string;
  /** Name of the node that produced it */
  readonly id?: string;
  /** Stage of thinking (003) */
  readonly stage?: "reasoning" | "planning" | "analyzing" | (string & {});
}

/** The reasoning before this point is complete (001 §8). */
export interface ReasoningEndEvent {
  readonly type: "reasoning_end";
  /** Name of the node */
  readonly id?: string;
  /** How long it thought */
  readonly duration_ms?: number;
}

/** How far a long tool has come (001 §8). */
export interface ToolProgressEvent {
  readonly type: "tool_progress";
  /** Id of the call */
  readonly call_id?: string;
  /** Name of the tool */
  readonly name?: string;
  /** From 0 to 100 */
  readonly progress: number;
  /** What it is doing */
  readonly message?: string;
}

/** The answer to a tool_approval (001 §8). */
export interface ToolApprovalResultEvent {
  readonly type: "tool_approval_result";
  /** Id of the call */
  readonly call_id?: string;
  /** Name of the tool */
  readonly name?: string;
  /** What was decided */
  readonly decision: "approved" | "rejected" | "expired";
  /** Why, for the model and for people */
  readonly reason?: string;
  /** The arguments as edited by the user */
  readonly arguments?: JsonObject;
  /** Who answered */
  readonly actor?: string;
}

/** A block of structured data: a table, a chart, an image, or the application's own (001 §8). */
export interface DataEvent {
  readonly type: "data";
  /** What it holds */
  readonly data_type: "dataframe" | "chart" | "image" | "custom";
  /** The data, by data_type */
  readonly data: JsonObject;
  /** About the data, e.g. a description */
  readonly metadata?: JsonObject;
}

/** An image to show (001 §8). */
export interface ImageEvent {
  readonly type: "image";
  /** Where it is */
  readonly url: string;
  /** E.g. image/png */
  readonly media_type?: string;
  /** What it shows, in words */
  readonly alt?: string;
}

/** A to-do list the user can tick (001 §8). */
export interface TodoListEvent {
  readonly type: "todo_list";
  /** Id of the list */
  readonly list_id: string;
  /** Its title */
  readonly title?: string;
  /** The items in order */
  readonly items: readonly { readonly id: string; readonly text: string; readonly completed: boolean }[];
}

/** One item of a to-do list changed (001 §8). */
export interface TodoUpdateEvent {
  readonly type: "todo_update";
  /** Id of the list */
  readonly list_id: string;
  /** Id of the item */
  readonly item_id: string;
  /** Whether it is done; absent: unchanged */
  readonly completed?: boolean;
  /** New text; absent: unchanged */
  readonly text?: string;
}

/** Something went wrong; by itself it does not end the run (001 §8). */
export interface ErrorEvent {
  readonly type: "error";
  /** What went wrong, for people, without a stack */
  readonly message: string;
  /** Stable code of the error */
  readonly code?: string;
  /** Where it happened */
  readonly stage?: "llm_generate" | "llm_generate_with_tools" | "llm_stream" | "tool_execute" | "iteration_limit" | (string & {});
  /** Class of the error (003) */
  readonly error_type?: "validation" | "execution" | "timeout" | "system";
  /** True when trying again may help */
  readonly recoverable?: boolean;
  /** The tool call it concerns */
  readonly call_id?: string;
  /** More for whoever debugs; `stack_trace` only in debug mode, otherwise `error_id` points into the server's log */
  readonly details?: JsonObject;
}

/** Documents were retrieved for the model, perhaps none (001 §8). */
export interface RetrievalCompleteEvent {
  readonly type: "retrieval_complete";
  /** How many documents came back */
  readonly doc_count: number;
  /** What was searched for */
  readonly query?: string;
  /** What was found, for references */
  readonly sources?: readonly { readonly title: string; readonly uri?: string; readonly snippet?: string; readonly score?: number }[];
}

/** The context sent to the model was compressed (001 §8). */
export interface CompressionAppliedEvent {
  readonly type: "compression_applied";
  /** Tokens before */
  readonly before_tokens: number;
  /** Tokens after */
  readonly after_tokens: number;
}

/** A model was called (001 §8). */
export interface LlmStartEvent {
  readonly type: "llm_start";
  /** Id of the model call */
  readonly llm_call_id: string;
  /** Which model */
  readonly model?: string;
  /** 0 for the first try */
  readonly attempt?: number;
}

/** A model call ended (001 §8). */
export interface LlmEndEvent {
  readonly type: "llm_end";
  /** Id of the model call */
  readonly llm_call_id: string;
  /** Which model answered */
  readonly model?: string;
  /** Why it stopped */
  readonly finish_reason?: "stop" | "length" | "tool_calls" | "content_filter" | "error" | "cancelled" | (string & {});
  /** What went wrong */
  readonly error?: string;
  /** How long it took */
  readonly duration_ms?: number;
}

/** A frame of another dialect whose type nobody here knows, kept whole and passed on (001 §8). */
export interface ForeignEvent {
  readonly type: "foreign";
  /** Dialect it came in */
  readonly dialect: string;
  /** The frame as it was */
  readonly frame: Json;
}

/** Where a frame belongs (001 §2). */
export interface Envelope {
  /** The conversation; constant over its turns */
  readonly session_id?: string;
  /** The run, one user turn; absent on records that belong to no run */
  readonly run_id?: string;
  /** The node run; shared from node_enter to node_exit, may repeat in later runs */
  readonly node_id?: string;
  /** Position in the session's stream: unique, growing */
  readonly event_id?: number;
  /** When it happened, in milliseconds since 1970 */
  readonly ts?: number;
  /** On a filtered stream: event_id of the frame sent before this one */
  readonly prev_event_id?: number;
  /** What another dialect's frame had and no field here holds, by dialect */
  readonly ext?: JsonObject;
}

/** One of all the above, told apart by `type`. */
export type LoomEvent =
  | RunStartEvent
  | NodeEnterEvent
  | NodeExitEvent
  | MessageChunkEvent
  | UsageEvent
  | ValuesEvent
  | UpdatesEvent
  | CustomEvent
  | CheckpointEvent
  | TotExpandEvent
  | TotEvaluateEvent
  | TotBacktrackEvent
  | GotPlanEvent
  | GotNodeStartEvent
  | GotNodeCompleteEvent
  | GotNodeFailedEvent
  | GotExpandEvent
  | ToolCallChunkEvent
  | ToolCallEvent
  | ToolStartEvent
  | ToolOutputEvent
  | ToolEndEvent
  | ToolApprovalEvent
  | ReplyEvent
  | RunEndEvent
  | ReasoningChunkEvent
  | ReasoningEndEvent
  | ToolProgressEvent
  | ToolApprovalResultEvent
  | DataEvent
  | ImageEvent
  | TodoListEvent
  | TodoUpdateEvent
  | ErrorEvent
  | RetrievalCompleteEvent
  | CompressionAppliedEvent
  | LlmStartEvent
  | LlmEndEvent
  | ForeignEvent;

/** From the type to its interface. */
export interface LoomEventMap {
  readonly "run_start": RunStartEvent;
  readonly "node_enter": NodeEnterEvent;
  readonly "node_exit": NodeExitEvent;
  readonly "message_chunk": MessageChunkEvent;
  readonly "usage": UsageEvent;
  readonly "values": ValuesEvent;
  readonly "updates": UpdatesEvent;
  readonly "custom": CustomEvent;
  readonly "checkpoint": CheckpointEvent;
  readonly "tot_expand": TotExpandEvent;
  readonly "tot_evaluate": TotEvaluateEvent;
  readonly "tot_backtrack": TotBacktrackEvent;
  readonly "got_plan": GotPlanEvent;
  readonly "got_node_start": GotNodeStartEvent;
  readonly "got_node_complete": GotNodeCompleteEvent;
  readonly "got_node_failed": GotNodeFailedEvent;
  readonly "got_expand": GotExpandEvent;
  readonly "tool_call_chunk": ToolCallChunkEvent;
  readonly "tool_call": ToolCallEvent;
  readonly "tool_start": ToolStartEvent;
  readonly "tool_output": ToolOutputEvent;
  readonly "tool_end": ToolEndEvent;
  readonly "tool_approval": ToolApprovalEvent;
  readonly "reply": ReplyEvent;
  readonly "run_end": RunEndEvent;
  readonly "reasoning_chunk": ReasoningChunkEvent;
  readonly "reasoning_end": ReasoningEndEvent;
  readonly "tool_progress": ToolProgressEvent;
  readonly "tool_approval_result": ToolApprovalResultEvent;
  readonly "data": DataEvent;
  readonly "image": ImageEvent;
  readonly "todo_list": TodoListEvent;
  readonly "todo_update": TodoUpdateEvent;
  readonly "error": ErrorEvent;
  readonly "retrieval_complete": RetrievalCompleteEvent;
  readonly "compression_applied": CompressionAppliedEvent;
  readonly "llm_start": LlmStartEvent;
  readonly "llm_end": LlmEndEvent;
  readonly "foreign": ForeignEvent;
}

function checkInner1(value: Value): Fault | undefined {
  const Err_ = value["Err"];
  if (typeof Err_ !== "string") return wrong("Err", "a string", Err_);
  return undefined;
}

function checkInner2(value: readonly unknown[]): Fault | undefined {
  for (const [index, item] of value.entries()) {
    if (typeof item !== "string") return wrong(`[${index}]`, "a string", item);
  }
  return undefined;
}

function checkInner3(value: readonly unknown[]): Fault | undefined {
  for (const [index, item] of value.entries()) {
    if (typeof item !== "number") return wrong(`[${index}]`, "a finite number", item);
    if (!Number.isFinite(item)) return outside(`[${index}]`, "a finite number", item);
  }
  return undefined;
}

function checkInner4(value: readonly unknown[]): Fault | undefined {
  for (const [index, item] of value.entries()) {
    if (!Array.isArray(item)) return wrong(`[${index}]`, "an array", item);
    {
      const fault = checkInner2(item);
      if (fault !== undefined) return within(`[${index}]`, fault);
    }
  }
  return undefined;
}

function checkInner5(value: Value): Fault | undefined {
  const total_tokens_ = value["total_tokens"];
  if (total_tokens_ !== undefined && total_tokens_ !== null) {
    if (typeof total_tokens_ !== "number") return wrong("total_tokens", "a whole number", total_tokens_);
    if (!Number.isInteger(total_tokens_) || total_tokens_ < 0 || total_tokens_ > 9007199254740991) return outside("total_tokens", "a whole number from 0 to 2^53-1", total_tokens_);
  }
  const prompt_tokens_ = value["prompt_tokens"];
  if (prompt_tokens_ !== undefined && prompt_tokens_ !== null) {
    if (typeof prompt_tokens_ !== "number") return wrong("prompt_tokens", "a whole number", prompt_tokens_);
    if (!Number.isInteger(prompt_tokens_) || prompt_tokens_ < 0 || prompt_tokens_ > 9007199254740991) return outside("prompt_tokens", "a whole number from 0 to 2^53-1", prompt_tokens_);
  }
  const completion_tokens_ = value["completion_tokens"];
  if (completion_tokens_ !== undefined && completion_tokens_ !== null) {
    if (typeof completion_tokens_ !== "number") return wrong("completion_tokens", "a whole number", completion_tokens_);
    if (!Number.isInteger(completion_tokens_) || completion_tokens_ < 0 || completion_tokens_ > 9007199254740991) return outside("completion_tokens", "a whole number from 0 to 2^53-1", completion_tokens_);
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

function checkInner6(value: Value): Fault | undefined {
  const id_ = value["id"];
  if (typeof id_ !== "string") return wrong("id", "a string", id_);
  const text_ = value["text"];
  if (typeof text_ !== "string") return wrong("text", "a string", text_);
  const completed_ = value["completed"];
  if (typeof completed_ !== "boolean") return wrong("completed", "true or false", completed_);
  return undefined;
}

function checkInner7(value: readonly unknown[]): Fault | undefined {
  for (const [index, item] of value.entries()) {
    if (typeof item !== "object" || item === null || Array.isArray(item)) return wrong(`[${index}]`, "an object", item);
    {
      const fault = checkInner6(item as Value);
      if (fault !== undefined) return within(`[${index}]`, fault);
    }
  }
  return undefined;
}

function checkInner8(value: Value): Fault | undefined {
  const title_ = value["title"];
  if (typeof title_ !== "string") return wrong("title", "a string", title_);
  const uri_ = value["uri"];
  if (uri_ !== undefined && uri_ !== null) {
    if (typeof uri_ !== "string") return wrong("uri", "a string", uri_);
  }
  const snippet_ = value["snippet"];
  if (snippet_ !== undefined && snippet_ !== null) {
    if (typeof snippet_ !== "string") return wrong("snippet", "a string", snippet_);
  }
  const score_ = value["score"];
  if (score_ !== undefined && score_ !== null) {
    if (typeof score_ !== "number") return wrong("score", "a finite number", score_);
    if (!Number.isFinite(score_)) return outside("score", "a finite number", score_);
  }
  return undefined;
}

function checkInner9(value: readonly unknown[]): Fault | undefined {
  for (const [index, item] of value.entries()) {
    if (typeof item !== "object" || item === null || Array.isArray(item)) return wrong(`[${index}]`, "an object", item);
    {
      const fault = checkInner8(item as Value);
      if (fault !== undefined) return within(`[${index}]`, fault);
    }
  }
  return undefined;
}

function checkRunStartEvent(value: Value, _hints?: Hint[]): Fault | undefined {
  const run_id_ = value["run_id"];
  if (run_id_ !== undefined && run_id_ !== null) {
    if (typeof run_id_ !== "string") return wrong("run_id", "a string", run_id_);
  }
  const message_ = value["message"];
  if (message_ !== undefined && message_ !== null) {
    if (typeof message_ !== "string") return wrong("message", "a string", message_);
  }
  const agent_ = value["agent"];
  if (agent_ !== undefined && agent_ !== null) {
    if (typeof agent_ !== "string") return wrong("agent", "a string", agent_);
  }
  const contiguous_ = value["contiguous"];
  if (contiguous_ !== undefined && contiguous_ !== null) {
    if (typeof contiguous_ !== "boolean") return wrong("contiguous", "true or false", contiguous_);
  }
  const source_ = value["source"];
  if (source_ !== undefined && source_ !== null) {
    if (typeof source_ !== "string") return wrong("source", "one of execute, stream", source_);
    if (source_ !== "execute" && source_ !== "stream") return outside("source", "one of execute, stream", source_);
  }
  const request_id_ = value["request_id"];
  if (request_id_ !== undefined && request_id_ !== null) {
    if (typeof request_id_ !== "string") return wrong("request_id", "a string", request_id_);
  }
  return undefined;
}

function checkNodeEnterEvent(value: Value, _hints?: Hint[]): Fault | undefined {
  const id_ = value["id"];
  if (typeof id_ !== "string") return wrong("id", "a string", id_);
  return undefined;
}

function checkNodeExitEvent(value: Value, _hints?: Hint[]): Fault | undefined {
  const id_ = value["id"];
  if (typeof id_ !== "string") return wrong("id", "a string", id_);
  const result_ = value["result"];
  if (result_ !== "Ok") {
    if (typeof result_ === "string") return outside("result", "\"Ok\" or an object", result_);
    if (typeof result_ !== "object" || result_ === null || Array.isArray(result_)) return wrong("result", "an object", result_);
    {
      const fault = checkInner1(result_ as Value);
      if (fault !== undefined) return within("result", fault);
    }
  }
  return undefined;
}

function checkMessageChunkEvent(value: Value, hints?: Hint[]): Fault | undefined {
  const content_ = value["content"];
  if (typeof content_ !== "string") return wrong("content", "a string", content_);
  const id_ = value["id"];
  if (typeof id_ !== "string") return wrong("id", "a string", id_);
  const channel_ = value["channel"];
  if (channel_ !== undefined && channel_ !== null) {
    if (typeof channel_ !== "string") return wrong("channel", "one of answer, thought", channel_);
    if (channel_ !== "answer" && channel_ !== "thought") return outside("channel", "one of answer, thought", channel_);
  }
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

function checkUsageEvent(value: Value, _hints?: Hint[]): Fault | undefined {
  const prompt_tokens_ = value["prompt_tokens"];
  if (typeof prompt_tokens_ !== "number") return wrong("prompt_tokens", "a whole number", prompt_tokens_);
  if (!Number.isInteger(prompt_tokens_) || prompt_tokens_ < 0 || prompt_tokens_ > 9007199254740991) return outside("prompt_tokens", "a whole number from 0 to 2^53-1", prompt_tokens_);
  const completion_tokens_ = value["completion_tokens"];
  if (typeof completion_tokens_ !== "number") return wrong("completion_tokens", "a whole number", completion_tokens_);
  if (!Number.isInteger(completion_tokens_) || completion_tokens_ < 0 || completion_tokens_ > 9007199254740991) return outside("completion_tokens", "a whole number from 0 to 2^53-1", completion_tokens_);
  const total_tokens_ = value["total_tokens"];
  if (typeof total_tokens_ !== "number") return wrong("total_tokens", "a whole number", total_tokens_);
  if (!Number.isInteger(total_tokens_) || total_tokens_ < 0 || total_tokens_ > 9007199254740991) return outside("total_tokens", "a whole number from 0 to 2^53-1", total_tokens_);
  const llm_call_id_ = value["llm_call_id"];
  if (llm_call_id_ !== undefined && llm_call_id_ !== null) {
    if (typeof llm_call_id_ !== "string") return wrong("llm_call_id", "a string", llm_call_id_);
  }
  return undefined;
}

function checkValuesEvent(value: Value, _hints?: Hint[]): Fault | undefined {
  const state_ = value["state"];
  if (state_ === undefined) return wrong("state", "a JSON value", state_);
  if (isDeeperThan(state_)) return tooDeep("state");
  return undefined;
}

function checkUpdatesEvent(value: Value, _hints?: Hint[]): Fault | undefined {
  const id_ = value["id"];
  if (typeof id_ !== "string") return wrong("id", "a string", id_);
  const state_ = value["state"];
  if (state_ === undefined) return wrong("state", "a JSON value", state_);
  if (isDeeperThan(state_)) return tooDeep("state");
  return undefined;
}

function checkCustomEvent(value: Value, _hints?: Hint[]): Fault | undefined {
  const value_ = value["value"];
  if (value_ === undefined) return wrong("value", "a JSON value", value_);
  if (isDeeperThan(value_)) return tooDeep("value");
  return undefined;
}

function checkCheckpointEvent(value: Value, _hints?: Hint[]): Fault | undefined {
  const checkpoint_id_ = value["checkpoint_id"];
  if (typeof checkpoint_id_ !== "string") return wrong("checkpoint_id", "a string", checkpoint_id_);
  const timestamp_ = value["timestamp"];
  if (typeof timestamp_ !== "string") return wrong("timestamp", "a string", timestamp_);
  const step_ = value["step"];
  if (typeof step_ !== "number") return wrong("step", "a whole number", step_);
  if (!Number.isInteger(step_) || step_ < 0 || step_ > 9007199254740991) return outside("step", "a whole number from 0 to 2^53-1", step_);
  const state_ = value["state"];
  if (state_ === undefined) return wrong("state", "a JSON value", state_);
  if (isDeeperThan(state_)) return tooDeep("state");
  const thread_id_ = value["thread_id"];
  if (thread_id_ !== undefined && thread_id_ !== null) {
    if (typeof thread_id_ !== "string") return wrong("thread_id", "a string", thread_id_);
  }
  const checkpoint_ns_ = value["checkpoint_ns"];
  if (checkpoint_ns_ !== undefined && checkpoint_ns_ !== null) {
    if (typeof checkpoint_ns_ !== "string") return wrong("checkpoint_ns", "a string", checkpoint_ns_);
  }
  return undefined;
}

function checkTotExpandEvent(value: Value, _hints?: Hint[]): Fault | undefined {
  const candidates_ = value["candidates"];
  if (!Array.isArray(candidates_)) return wrong("candidates", "an array", candidates_);
  {
    const fault = checkInner2(candidates_);
    if (fault !== undefined) return within("candidates", fault);
  }
  const ids_ = value["ids"];
  if (ids_ !== undefined && ids_ !== null) {
    if (!Array.isArray(ids_)) return wrong("ids", "an array", ids_);
    {
      const fault = checkInner2(ids_);
      if (fault !== undefined) return within("ids", fault);
    }
  }
  const parent_ = value["parent"];
  if (parent_ !== undefined && parent_ !== null) {
    if (typeof parent_ !== "string") return wrong("parent", "a string", parent_);
  }
  const depth_ = value["depth"];
  if (depth_ !== undefined && depth_ !== null) {
    if (typeof depth_ !== "number") return wrong("depth", "a whole number", depth_);
    if (!Number.isInteger(depth_) || depth_ < 0 || depth_ > 9007199254740991) return outside("depth", "a whole number from 0 to 2^53-1", depth_);
  }
  return undefined;
}

function checkTotEvaluateEvent(value: Value, _hints?: Hint[]): Fault | undefined {
  const chosen_ = value["chosen"];
  if (typeof chosen_ !== "number") return wrong("chosen", "a whole number", chosen_);
  if (!Number.isInteger(chosen_) || chosen_ < 0 || chosen_ > 9007199254740991) return outside("chosen", "a whole number from 0 to 2^53-1", chosen_);
  const scores_ = value["scores"];
  if (!Array.isArray(scores_)) return wrong("scores", "an array", scores_);
  {
    const fault = checkInner3(scores_);
    if (fault !== undefined) return within("scores", fault);
  }
  const ids_ = value["ids"];
  if (ids_ !== undefined && ids_ !== null) {
    if (!Array.isArray(ids_)) return wrong("ids", "an array", ids_);
    {
      const fault = checkInner2(ids_);
      if (fault !== undefined) return within("ids", fault);
    }
  }
  const kept_ = value["kept"];
  if (kept_ !== undefined && kept_ !== null) {
    if (!Array.isArray(kept_)) return wrong("kept", "an array", kept_);
    {
      const fault = checkInner2(kept_);
      if (fault !== undefined) return within("kept", fault);
    }
  }
  const depth_ = value["depth"];
  if (depth_ !== undefined && depth_ !== null) {
    if (typeof depth_ !== "number") return wrong("depth", "a whole number", depth_);
    if (!Number.isInteger(depth_) || depth_ < 0 || depth_ > 9007199254740991) return outside("depth", "a whole number from 0 to 2^53-1", depth_);
  }
  return undefined;
}

function checkTotBacktrackEvent(value: Value, _hints?: Hint[]): Fault | undefined {
  const reason_ = value["reason"];
  if (typeof reason_ !== "string") return wrong("reason", "a string", reason_);
  const to_depth_ = value["to_depth"];
  if (typeof to_depth_ !== "number") return wrong("to_depth", "a whole number", to_depth_);
  if (!Number.isInteger(to_depth_) || to_depth_ < 0 || to_depth_ > 9007199254740991) return outside("to_depth", "a whole number from 0 to 2^53-1", to_depth_);
  const from_ = value["from"];
  if (from_ !== undefined && from_ !== null) {
    if (typeof from_ !== "string") return wrong("from", "a string", from_);
  }
  const to_ = value["to"];
  if (to_ !== undefined && to_ !== null) {
    if (typeof to_ !== "string") return wrong("to", "a string", to_);
  }
  return undefined;
}

function checkGotPlanEvent(value: Value, _hints?: Hint[]): Fault | undefined {
  const node_count_ = value["node_count"];
  if (typeof node_count_ !== "number") return wrong("node_count", "a whole number", node_count_);
  if (!Number.isInteger(node_count_) || node_count_ < 0 || node_count_ > 9007199254740991) return outside("node_count", "a whole number from 0 to 2^53-1", node_count_);
  const edge_count_ = value["edge_count"];
  if (typeof edge_count_ !== "number") return wrong("edge_count", "a whole number", edge_count_);
  if (!Number.isInteger(edge_count_) || edge_count_ < 0 || edge_count_ > 9007199254740991) return outside("edge_count", "a whole number from 0 to 2^53-1", edge_count_);
  const node_ids_ = value["node_ids"];
  if (!Array.isArray(node_ids_)) return wrong("node_ids", "an array", node_ids_);
  {
    const fault = checkInner2(node_ids_);
    if (fault !== undefined) return within("node_ids", fault);
  }
  const edges_ = value["edges"];
  if (edges_ !== undefined && edges_ !== null) {
    if (!Array.isArray(edges_)) return wrong("edges", "an array", edges_);
    {
      const fault = checkInner4(edges_);
      if (fault !== undefined) return within("edges", fault);
    }
  }
  const labels_ = value["labels"];
  if (labels_ !== undefined && labels_ !== null) {
    if (!Array.isArray(labels_)) return wrong("labels", "an array", labels_);
    {
      const fault = checkInner2(labels_);
      if (fault !== undefined) return within("labels", fault);
    }
  }
  return undefined;
}

function checkGotNodeStartEvent(value: Value, _hints?: Hint[]): Fault | undefined {
  const id_ = value["id"];
  if (typeof id_ !== "string") return wrong("id", "a string", id_);
  return undefined;
}

function checkGotNodeCompleteEvent(value: Value, _hints?: Hint[]): Fault | undefined {
  const id_ = value["id"];
  if (typeof id_ !== "string") return wrong("id", "a string", id_);
  const result_summary_ = value["result_summary"];
  if (typeof result_summary_ !== "string") return wrong("result_summary", "a string", result_summary_);
  return undefined;
}

function checkGotNodeFailedEvent(value: Value, _hints?: Hint[]): Fault | undefined {
  const id_ = value["id"];
  if (typeof id_ !== "string") return wrong("id", "a string", id_);
  const error_ = value["error"];
  if (typeof error_ !== "string") return wrong("error", "a string", error_);
  return undefined;
}

function checkGotExpandEvent(value: Value, _hints?: Hint[]): Fault | undefined {
  const node_id_ = value["node_id"];
  if (typeof node_id_ !== "string") return wrong("node_id", "a string", node_id_);
  const nodes_added_ = value["nodes_added"];
  if (typeof nodes_added_ !== "number") return wrong("nodes_added", "a whole number", nodes_added_);
  if (!Number.isInteger(nodes_added_) || nodes_added_ < 0 || nodes_added_ > 9007199254740991) return outside("nodes_added", "a whole number from 0 to 2^53-1", nodes_added_);
  const edges_added_ = value["edges_added"];
  if (typeof edges_added_ !== "number") return wrong("edges_added", "a whole number", edges_added_);
  if (!Number.isInteger(edges_added_) || edges_added_ < 0 || edges_added_ > 9007199254740991) return outside("edges_added", "a whole number from 0 to 2^53-1", edges_added_);
  const nodes_ = value["nodes"];
  if (nodes_ !== undefined && nodes_ !== null) {
    if (!Array.isArray(nodes_)) return wrong("nodes", "an array", nodes_);
    {
      const fault = checkInner2(nodes_);
      if (fault !== undefined) return within("nodes", fault);
    }
  }
  const edges_ = value["edges"];
  if (edges_ !== undefined && edges_ !== null) {
    if (!Array.isArray(edges_)) return wrong("edges", "an array", edges_);
    {
      const fault = checkInner4(edges_);
      if (fault !== undefined) return within("edges", fault);
    }
  }
  return undefined;
}

function checkToolCallChunkEvent(value: Value, _hints?: Hint[]): Fault | undefined {
  const call_id_ = value["call_id"];
  if (call_id_ !== undefined && call_id_ !== null) {
    if (typeof call_id_ !== "string") return wrong("call_id", "a string", call_id_);
  }
  const name_ = value["name"];
  if (name_ !== undefined && name_ !== null) {
    if (typeof name_ !== "string") return wrong("name", "a string", name_);
  }
  const arguments_delta_ = value["arguments_delta"];
  if (typeof arguments_delta_ !== "string") return wrong("arguments_delta", "a string", arguments_delta_);
  const index_ = value["index"];
  if (index_ !== undefined && index_ !== null) {
    if (typeof index_ !== "number") return wrong("index", "a whole number", index_);
    if (!Number.isInteger(index_) || index_ < 0 || index_ > 9007199254740991) return outside("index", "a whole number from 0 to 2^53-1", index_);
  }
  return undefined;
}

function checkToolCallEvent(value: Value, _hints?: Hint[]): Fault | undefined {
  const call_id_ = value["call_id"];
  if (call_id_ !== undefined && call_id_ !== null) {
    if (typeof call_id_ !== "string") return wrong("call_id", "a string", call_id_);
  }
  const name_ = value["name"];
  if (typeof name_ !== "string") return wrong("name", "a string", name_);
  const arguments_ = value["arguments"];
  if (typeof arguments_ !== "object" || arguments_ === null || Array.isArray(arguments_)) return wrong("arguments", "an object", arguments_);
  if (isDeeperThan(arguments_)) return tooDeep("arguments");
  const description_ = value["description"];
  if (description_ !== undefined && description_ !== null) {
    if (typeof description_ !== "string") return wrong("description", "a string", description_);
  }
  const index_ = value["index"];
  if (index_ !== undefined && index_ !== null) {
    if (typeof index_ !== "number") return wrong("index", "a whole number", index_);
    if (!Number.isInteger(index_) || index_ < 0 || index_ > 9007199254740991) return outside("index", "a whole number from 0 to 2^53-1", index_);
  }
  const raw_arguments_ = value["raw_arguments"];
  if (raw_arguments_ !== undefined && raw_arguments_ !== null) {
    if (typeof raw_arguments_ !== "string") return wrong("raw_arguments", "a string", raw_arguments_);
  }
  return undefined;
}

function checkToolStartEvent(value: Value, _hints?: Hint[]): Fault | undefined {
  const call_id_ = value["call_id"];
  if (call_id_ !== undefined && call_id_ !== null) {
    if (typeof call_id_ !== "string") return wrong("call_id", "a string", call_id_);
  }
  const name_ = value["name"];
  if (typeof name_ !== "string") return wrong("name", "a string", name_);
  return undefined;
}

function checkToolOutputEvent(value: Value, _hints?: Hint[]): Fault | undefined {
  const call_id_ = value["call_id"];
  if (call_id_ !== undefined && call_id_ !== null) {
    if (typeof call_id_ !== "string") return wrong("call_id", "a string", call_id_);
  }
  const name_ = value["name"];
  if (typeof name_ !== "string") return wrong("name", "a string", name_);
  const content_ = value["content"];
  if (typeof content_ !== "string") return wrong("content", "a string", content_);
  return undefined;
}

function checkToolEndEvent(value: Value, _hints?: Hint[]): Fault | undefined {
  const call_id_ = value["call_id"];
  if (call_id_ !== undefined && call_id_ !== null) {
    if (typeof call_id_ !== "string") return wrong("call_id", "a string", call_id_);
  }
  const name_ = value["name"];
  if (typeof name_ !== "string") return wrong("name", "a string", name_);
  const result_ = value["result"];
  if (typeof result_ !== "string") return wrong("result", "a string", result_);
  const is_error_ = value["is_error"];
  if (typeof is_error_ !== "boolean") return wrong("is_error", "true or false", is_error_);
  const output_ = value["output"];
  if (output_ !== undefined && output_ !== null) {
    if (output_ === undefined) return wrong("output", "a JSON value", output_);
    if (isDeeperThan(output_)) return tooDeep("output");
  }
  const error_code_ = value["error_code"];
  if (error_code_ !== undefined && error_code_ !== null) {
    if (typeof error_code_ !== "string") return wrong("error_code", "a string", error_code_);
  }
  const duration_ms_ = value["duration_ms"];
  if (duration_ms_ !== undefined && duration_ms_ !== null) {
    if (typeof duration_ms_ !== "number") return wrong("duration_ms", "a finite number", duration_ms_);
    if (!Number.isFinite(duration_ms_) || duration_ms_ < 0) return outside("duration_ms", "a finite number, at least 0", duration_ms_);
  }
  return undefined;
}

function checkToolApprovalEvent(value: Value, _hints?: Hint[]): Fault | undefined {
  const call_id_ = value["call_id"];
  if (call_id_ !== undefined && call_id_ !== null) {
    if (typeof call_id_ !== "string") return wrong("call_id", "a string", call_id_);
  }
  const name_ = value["name"];
  if (typeof name_ !== "string") return wrong("name", "a string", name_);
  const arguments_ = value["arguments"];
  if (typeof arguments_ !== "object" || arguments_ === null || Array.isArray(arguments_)) return wrong("arguments", "an object", arguments_);
  if (isDeeperThan(arguments_)) return tooDeep("arguments");
  const expires_at_ = value["expires_at"];
  if (expires_at_ !== undefined && expires_at_ !== null) {
    if (typeof expires_at_ !== "number") return wrong("expires_at", "a finite number", expires_at_);
    if (!Number.isFinite(expires_at_)) return outside("expires_at", "a finite number", expires_at_);
  }
  return undefined;
}

function checkReplyEvent(value: Value, _hints?: Hint[]): Fault | undefined {
  const reply_ = value["reply"];
  if (typeof reply_ !== "string") return wrong("reply", "a string", reply_);
  return undefined;
}

function checkRunEndEvent(value: Value, _hints?: Hint[]): Fault | undefined {
  const status_ = value["status"];
  if (typeof status_ !== "string") return wrong("status", "one of completed, error, cancelled", status_);
  if (status_ !== "completed" && status_ !== "error" && status_ !== "cancelled") return outside("status", "one of completed, error, cancelled", status_);
  const summary_ = value["summary"];
  if (summary_ !== undefined && summary_ !== null) {
    if (typeof summary_ !== "object" || summary_ === null || Array.isArray(summary_)) return wrong("summary", "an object", summary_);
    {
      const fault = checkInner5(summary_ as Value);
      if (fault !== undefined) return within("summary", fault);
    }
  }
  const first_event_id_ = value["first_event_id"];
  if (first_event_id_ !== undefined && first_event_id_ !== null) {
    if (typeof first_event_id_ !== "number") return wrong("first_event_id", "a whole number", first_event_id_);
    if (!Number.isInteger(first_event_id_) || first_event_id_ < 0 || first_event_id_ > 9007199254740991) return outside("first_event_id", "a whole number from 0 to 2^53-1", first_event_id_);
  }
  const last_event_id_ = value["last_event_id"];
  if (last_event_id_ !== undefined && last_event_id_ !== null) {
    if (typeof last_event_id_ !== "number") return wrong("last_event_id", "a whole number", last_event_id_);
    if (!Number.isInteger(last_event_id_) || last_event_id_ < 0 || last_event_id_ > 9007199254740991) return outside("last_event_id", "a whole number from 0 to 2^53-1", last_event_id_);
  }
  const frame_count_ = value["frame_count"];
  if (frame_count_ !== undefined && frame_count_ !== null) {
    if (typeof frame_count_ !== "number") return wrong("frame_count", "a whole number", frame_count_);
    if (!Number.isInteger(frame_count_) || frame_count_ < 0 || frame_count_ > 9007199254740991) return outside("frame_count", "a whole number from 0 to 2^53-1", frame_count_);
  }
  const reason_ = value["reason"];
  if (reason_ !== undefined && reason_ !== null) {
    if (typeof reason_ !== "string") return wrong("reason", "a string", reason_);
  }
  const code_ = value["code"];
  if (code_ !== undefined && code_ !== null) {
    if (typeof code_ !== "string") return wrong("code", "a string", code_);
  }
  return undefined;
}

function checkReasoningChunkEvent(value: Value, hints?: Hint[]): Fault | undefined {
  const content_ = value["content"];
  if (typeof content_ !== "string") return wrong("content", "a string", content_);
  const id_ = value["id"];
  if (id_ !== undefined && id_ !== null) {
    if (typeof id_ !== "string") return wrong("id", "a string", id_);
  }
  const stage_ = value["stage"];
  if (stage_ !== undefined && stage_ !== null) {
    if (typeof stage_ !== "string") return wrong("stage", "a string", stage_);
    if (hints !== undefined && stage_ !== "reasoning" && stage_ !== "planning" && stage_ !== "analyzing") hints.push(unlisted("stage", stage_, ["reasoning","planning","analyzing"]));
  }
  return undefined;
}

function checkReasoningEndEvent(value: Value, _hints?: Hint[]): Fault | undefined {
  const id_ = value["id"];
  if (id_ !== undefined && id_ !== null) {
    if (typeof id_ !== "string") return wrong("id", "a string", id_);
  }
  const duration_ms_ = value["duration_ms"];
  if (duration_ms_ !== undefined && duration_ms_ !== null) {
    if (typeof duration_ms_ !== "number") return wrong("duration_ms", "a finite number", duration_ms_);
    if (!Number.isFinite(duration_ms_) || duration_ms_ < 0) return outside("duration_ms", "a finite number, at least 0", duration_ms_);
  }
  return undefined;
}

function checkToolProgressEvent(value: Value, _hints?: Hint[]): Fault | undefined {
  const call_id_ = value["call_id"];
  if (call_id_ !== undefined && call_id_ !== null) {
    if (typeof call_id_ !== "string") return wrong("call_id", "a string", call_id_);
  }
  const name_ = value["name"];
  if (name_ !== undefined && name_ !== null) {
    if (typeof name_ !== "string") return wrong("name", "a string", name_);
  }
  const progress_ = value["progress"];
  if (typeof progress_ !== "number") return wrong("progress", "a finite number", progress_);
  if (!Number.isFinite(progress_) || progress_ < 0 || progress_ > 100) return outside("progress", "a finite number from 0 to 100", progress_);
  const message_ = value["message"];
  if (message_ !== undefined && message_ !== null) {
    if (typeof message_ !== "string") return wrong("message", "a string", message_);
  }
  return undefined;
}

function checkToolApprovalResultEvent(value: Value, _hints?: Hint[]): Fault | undefined {
  const call_id_ = value["call_id"];
  if (call_id_ !== undefined && call_id_ !== null) {
    if (typeof call_id_ !== "string") return wrong("call_id", "a string", call_id_);
  }
  const name_ = value["name"];
  if (name_ !== undefined && name_ !== null) {
    if (typeof name_ !== "string") return wrong("name", "a string", name_);
  }
  const decision_ = value["decision"];
  if (typeof decision_ !== "string") return wrong("decision", "one of approved, rejected, expired", decision_);
  if (decision_ !== "approved" && decision_ !== "rejected" && decision_ !== "expired") return outside("decision", "one of approved, rejected, expired", decision_);
  const reason_ = value["reason"];
  if (reason_ !== undefined && reason_ !== null) {
    if (typeof reason_ !== "string") return wrong("reason", "a string", reason_);
  }
  const arguments_ = value["arguments"];
  if (arguments_ !== undefined && arguments_ !== null) {
    if (typeof arguments_ !== "object" || arguments_ === null || Array.isArray(arguments_)) return wrong("arguments", "an object", arguments_);
    if (isDeeperThan(arguments_)) return tooDeep("arguments");
  }
  const actor_ = value["actor"];
  if (actor_ !== undefined && actor_ !== null) {
    if (typeof actor_ !== "string") return wrong("actor", "a string", actor_);
  }
  return undefined;
}

function checkDataEvent(value: Value, _hints?: Hint[]): Fault | undefined {
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

function checkImageEvent(value: Value, _hints?: Hint[]): Fault | undefined {
  const url_ = value["url"];
  if (typeof url_ !== "string") return wrong("url", "a string", url_);
  const media_type_ = value["media_type"];
  if (media_type_ !== undefined && media_type_ !== null) {
    if (typeof media_type_ !== "string") return wrong("media_type", "a string", media_type_);
  }
  const alt_ = value["alt"];
  if (alt_ !== undefined && alt_ !== null) {
    if (typeof alt_ !== "string") return wrong("alt", "a string", alt_);
  }
  return undefined;
}

function checkTodoListEvent(value: Value, _hints?: Hint[]): Fault | undefined {
  const list_id_ = value["list_id"];
  if (typeof list_id_ !== "string") return wrong("list_id", "a string", list_id_);
  const title_ = value["title"];
  if (title_ !== undefined && title_ !== null) {
    if (typeof title_ !== "string") return wrong("title", "a string", title_);
  }
  const items_ = value["items"];
  if (!Array.isArray(items_)) return wrong("items", "an array", items_);
  {
    const fault = checkInner7(items_);
    if (fault !== undefined) return within("items", fault);
  }
  return undefined;
}

function checkTodoUpdateEvent(value: Value, _hints?: Hint[]): Fault | undefined {
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

function checkErrorEvent(value: Value, hints?: Hint[]): Fault | undefined {
  const message_ = value["message"];
  if (typeof message_ !== "string") return wrong("message", "a string", message_);
  const code_ = value["code"];
  if (code_ !== undefined && code_ !== null) {
    if (typeof code_ !== "string") return wrong("code", "a string", code_);
  }
  const stage_ = value["stage"];
  if (stage_ !== undefined && stage_ !== null) {
    if (typeof stage_ !== "string") return wrong("stage", "a string", stage_);
    if (hints !== undefined && stage_ !== "llm_generate" && stage_ !== "llm_generate_with_tools" && stage_ !== "llm_stream" && stage_ !== "tool_execute" && stage_ !== "iteration_limit") hints.push(unlisted("stage", stage_, ["llm_generate","llm_generate_with_tools","llm_stream","tool_execute","iteration_limit"]));
  }
  const error_type_ = value["error_type"];
  if (error_type_ !== undefined && error_type_ !== null) {
    if (typeof error_type_ !== "string") return wrong("error_type", "one of validation, execution, timeout, system", error_type_);
    if (error_type_ !== "validation" && error_type_ !== "execution" && error_type_ !== "timeout" && error_type_ !== "system") return outside("error_type", "one of validation, execution, timeout, system", error_type_);
  }
  const recoverable_ = value["recoverable"];
  if (recoverable_ !== undefined && recoverable_ !== null) {
    if (typeof recoverable_ !== "boolean") return wrong("recoverable", "true or false", recoverable_);
  }
  const call_id_ = value["call_id"];
  if (call_id_ !== undefined && call_id_ !== null) {
    if (typeof call_id_ !== "string") return wrong("call_id", "a string", call_id_);
  }
  const details_ = value["details"];
  if (details_ !== undefined && details_ !== null) {
    if (typeof details_ !== "object" || details_ === null || Array.isArray(details_)) return wrong("details", "an object", details_);
    if (isDeeperThan(details_)) return tooDeep("details");
  }
  return undefined;
}

function checkRetrievalCompleteEvent(value: Value, _hints?: Hint[]): Fault | undefined {
  const doc_count_ = value["doc_count"];
  if (typeof doc_count_ !== "number") return wrong("doc_count", "a whole number", doc_count_);
  if (!Number.isInteger(doc_count_) || doc_count_ < 0 || doc_count_ > 9007199254740991) return outside("doc_count", "a whole number from 0 to 2^53-1", doc_count_);
  const query_ = value["query"];
  if (query_ !== undefined && query_ !== null) {
    if (typeof query_ !== "string") return wrong("query", "a string", query_);
  }
  const sources_ = value["sources"];
  if (sources_ !== undefined && sources_ !== null) {
    if (!Array.isArray(sources_)) return wrong("sources", "an array", sources_);
    {
      const fault = checkInner9(sources_);
      if (fault !== undefined) return within("sources", fault);
    }
  }
  return undefined;
}

function checkCompressionAppliedEvent(value: Value, _hints?: Hint[]): Fault | undefined {
  const before_tokens_ = value["before_tokens"];
  if (typeof before_tokens_ !== "number") return wrong("before_tokens", "a whole number", before_tokens_);
  if (!Number.isInteger(before_tokens_) || before_tokens_ < 0 || before_tokens_ > 9007199254740991) return outside("before_tokens", "a whole number from 0 to 2^53-1", before_tokens_);
  const after_tokens_ = value["after_tokens"];
  if (typeof after_tokens_ !== "number") return wrong("after_tokens", "a whole number", after_tokens_);
  if (!Number.isInteger(after_tokens_) || after_tokens_ < 0 || after_tokens_ > 9007199254740991) return outside("after_tokens", "a whole number from 0 to 2^53-1", after_tokens_);
  return undefined;
}

function checkLlmStartEvent(value: Value, _hints?: Hint[]): Fault | undefined {
  const llm_call_id_ = value["llm_call_id"];
  if (typeof llm_call_id_ !== "string") return wrong("llm_call_id", "a string", llm_call_id_);
  const model_ = value["model"];
  if (model_ !== undefined && model_ !== null) {
    if (typeof model_ !== "string") return wrong("model", "a string", model_);
  }
  const attempt_ = value["attempt"];
  if (attempt_ !== undefined && attempt_ !== null) {
    if (typeof attempt_ !== "number") return wrong("attempt", "a whole number", attempt_);
    if (!Number.isInteger(attempt_) || attempt_ < 0 || attempt_ > 9007199254740991) return outside("attempt", "a whole number from 0 to 2^53-1", attempt_);
  }
  return undefined;
}

function checkLlmEndEvent(value: Value, hints?: Hint[]): Fault | undefined {
  const llm_call_id_ = value["llm_call_id"];
  if (typeof llm_call_id_ !== "string") return wrong("llm_call_id", "a string", llm_call_id_);
  const model_ = value["model"];
  if (model_ !== undefined && model_ !== null) {
    if (typeof model_ !== "string") return wrong("model", "a string", model_);
  }
  const finish_reason_ = value["finish_reason"];
  if (finish_reason_ !== undefined && finish_reason_ !== null) {
    if (typeof finish_reason_ !== "string") return wrong("finish_reason", "a string", finish_reason_);
    if (hints !== undefined && finish_reason_ !== "stop" && finish_reason_ !== "length" && finish_reason_ !== "tool_calls" && finish_reason_ !== "content_filter" && finish_reason_ !== "error" && finish_reason_ !== "cancelled") hints.push(unlisted("finish_reason", finish_reason_, ["stop","length","tool_calls","content_filter","error","cancelled"]));
  }
  const error_ = value["error"];
  if (error_ !== undefined && error_ !== null) {
    if (typeof error_ !== "string") return wrong("error", "a string", error_);
  }
  const duration_ms_ = value["duration_ms"];
  if (duration_ms_ !== undefined && duration_ms_ !== null) {
    if (typeof duration_ms_ !== "number") return wrong("duration_ms", "a finite number", duration_ms_);
    if (!Number.isFinite(duration_ms_) || duration_ms_ < 0) return outside("duration_ms", "a finite number, at least 0", duration_ms_);
  }
  return undefined;
}

function checkForeignEvent(value: Value, _hints?: Hint[]): Fault | undefined {
  const dialect_ = value["dialect"];
  if (typeof dialect_ !== "string") return wrong("dialect", "a string", dialect_);
  const frame_ = value["frame"];
  if (frame_ === undefined) return wrong("frame", "a JSON value", frame_);
  if (isDeeperThan(frame_)) return tooDeep("frame");
  return undefined;
}

export function findEnvelopeFault(value: Value): Fault | undefined {
  const session_id_ = value["session_id"];
  if (session_id_ !== undefined && session_id_ !== null) {
    if (typeof session_id_ !== "string") return wrong("session_id", "a string", session_id_);
  }
  const run_id_ = value["run_id"];
  if (run_id_ !== undefined && run_id_ !== null) {
    if (typeof run_id_ !== "string") return wrong("run_id", "a string", run_id_);
  }
  const node_id_ = value["node_id"];
  if (node_id_ !== undefined && node_id_ !== null) {
    if (typeof node_id_ !== "string") return wrong("node_id", "a string", node_id_);
  }
  const event_id_ = value["event_id"];
  if (event_id_ !== undefined && event_id_ !== null) {
    if (typeof event_id_ !== "number") return wrong("event_id", "a whole number", event_id_);
    if (!Number.isInteger(event_id_) || event_id_ < 0 || event_id_ > 9007199254740991) return outside("event_id", "a whole number from 0 to 2^53-1", event_id_);
  }
  const ts_ = value["ts"];
  if (ts_ !== undefined && ts_ !== null) {
    if (typeof ts_ !== "number") return wrong("ts", "a finite number", ts_);
    if (!Number.isFinite(ts_)) return outside("ts", "a finite number", ts_);
  }
  const prev_event_id_ = value["prev_event_id"];
  if (prev_event_id_ !== undefined && prev_event_id_ !== null) {
    if (typeof prev_event_id_ !== "number") return wrong("prev_event_id", "a whole number", prev_event_id_);
    if (!Number.isInteger(prev_event_id_) || prev_event_id_ < 0 || prev_event_id_ > 9007199254740991) return outside("prev_event_id", "a whole number from 0 to 2^53-1", prev_event_id_);
  }
  const ext_ = value["ext"];
  if (ext_ !== undefined && ext_ !== null) {
    if (typeof ext_ !== "object" || ext_ === null || Array.isArray(ext_)) return wrong("ext", "an object", ext_);
    if (isDeeperThan(ext_)) return tooDeep("ext");
  }
  return undefined;
}

function readRunStartEvent(value: Value, fields: number): object | undefined {
  if (fields === 0) return { type: "run_start" };
  const run_id_ = value["run_id"];
  const message_ = value["message"];
  const agent_ = value["agent"];
  const contiguous_ = value["contiguous"];
  const source_ = value["source"];
  const request_id_ = value["request_id"];
  if (run_id_ !== undefined && !(typeof run_id_ === "string")) return undefined;
  if (message_ !== undefined && !(typeof message_ === "string")) return undefined;
  if (agent_ !== undefined && !(typeof agent_ === "string")) return undefined;
  if (contiguous_ !== undefined && !(typeof contiguous_ === "boolean")) return undefined;
  if (source_ !== undefined && !(source_ === "execute" || source_ === "stream")) return undefined;
  if (request_id_ !== undefined && !(typeof request_id_ === "string")) return undefined;
  const event: { [field: string]: unknown } = { type: "run_start" };
  let left = fields - 0;
  if (run_id_ !== undefined) {
    event["run_id"] = run_id_;
    left--;
  }
  if (message_ !== undefined) {
    event["message"] = message_;
    left--;
  }
  if (agent_ !== undefined) {
    event["agent"] = agent_;
    left--;
  }
  if (contiguous_ !== undefined) {
    event["contiguous"] = contiguous_;
    left--;
  }
  if (source_ !== undefined) {
    event["source"] = source_;
    left--;
  }
  if (request_id_ !== undefined) {
    event["request_id"] = request_id_;
    left--;
  }
  return left === 0 ? event : undefined;
}

function readNodeEnterEvent(value: Value, fields: number): object | undefined {
  const id_ = value["id"];
  if (!(typeof id_ === "string")) return undefined;
  if (fields === 1) return { type: "node_enter", id: id_ };
  return undefined;
}

function readNodeExitEvent(value: Value, fields: number): object | undefined {
  const id_ = value["id"];
  const result_ = value["result"];
  if (checkNodeExitEvent(value) !== undefined) return undefined;
  if (fields === 2) return { type: "node_exit", id: id_, result: result_ };
  return undefined;
}

function readMessageChunkEvent(value: Value, fields: number): object | undefined {
  const content_ = value["content"];
  const id_ = value["id"];
  if (!(typeof content_ === "string")) return undefined;
  if (!(typeof id_ === "string")) return undefined;
  if (fields === 2) return { type: "message_chunk", content: content_, id: id_ };
  const channel_ = value["channel"];
  const format_ = value["format"];
  const is_complete_ = value["is_complete"];
  if (channel_ !== undefined && !(channel_ === "answer" || channel_ === "thought")) return undefined;
  if (format_ !== undefined && !(format_ === "markdown" || format_ === "text" || format_ === "html")) return undefined;
  if (is_complete_ !== undefined && !(typeof is_complete_ === "boolean")) return undefined;
  switch ((channel_ === undefined ? 0 : 1) | (format_ === undefined ? 0 : 2) | (is_complete_ === undefined ? 0 : 4)) {
    case 1:
      return fields === 3 ? { type: "message_chunk", content: content_, id: id_, channel: channel_ } : undefined;
    case 2:
      return fields === 3 ? { type: "message_chunk", content: content_, id: id_, format: format_ } : undefined;
    case 3:
      return fields === 4 ? { type: "message_chunk", content: content_, id: id_, channel: channel_, format: format_ } : undefined;
    case 4:
      return fields === 3 ? { type: "message_chunk", content: content_, id: id_, is_complete: is_complete_ } : undefined;
    case 5:
      return fields === 4 ? { type: "message_chunk", content: content_, id: id_, channel: channel_, is_complete: is_complete_ } : undefined;
    case 6:
      return fields === 4 ? { type: "message_chunk", content: content_, id: id_, format: format_, is_complete: is_complete_ } : undefined;
    case 7:
      return fields === 5 ? { type: "message_chunk", content: content_, id: id_, channel: channel_, format: format_, is_complete: is_complete_ } : undefined;
    default:
      return undefined;
  }
}

function readUsageEvent(value: Value, fields: number): object | undefined {
  const prompt_tokens_ = value["prompt_tokens"];
  const completion_tokens_ = value["completion_tokens"];
  const total_tokens_ = value["total_tokens"];
  if (!(typeof prompt_tokens_ === "number" && Number.isInteger(prompt_tokens_) && prompt_tokens_ >= 0 && prompt_tokens_ <= 9007199254740991)) return undefined;
  if (!(typeof completion_tokens_ === "number" && Number.isInteger(completion_tokens_) && completion_tokens_ >= 0 && completion_tokens_ <= 9007199254740991)) return undefined;
  if (!(typeof total_tokens_ === "number" && Number.isInteger(total_tokens_) && total_tokens_ >= 0 && total_tokens_ <= 9007199254740991)) return undefined;
  if (fields === 3) return { type: "usage", prompt_tokens: prompt_tokens_, completion_tokens: completion_tokens_, total_tokens: total_tokens_ };
  const llm_call_id_ = value["llm_call_id"];
  if (llm_call_id_ !== undefined && !(typeof llm_call_id_ === "string")) return undefined;
  switch ((llm_call_id_ === undefined ? 0 : 1)) {
    case 1:
      return fields === 4 ? { type: "usage", prompt_tokens: prompt_tokens_, completion_tokens: completion_tokens_, total_tokens: total_tokens_, llm_call_id: llm_call_id_ } : undefined;
    default:
      return undefined;
  }
}

function readValuesEvent(value: Value, fields: number): object | undefined {
  const state_ = value["state"];
  if (checkValuesEvent(value) !== undefined) return undefined;
  if (fields === 1) return { type: "values", state: state_ };
  return undefined;
}

function readUpdatesEvent(value: Value, fields: number): object | undefined {
  const id_ = value["id"];
  const state_ = value["state"];
  if (checkUpdatesEvent(value) !== undefined) return undefined;
  if (fields === 2) return { type: "updates", id: id_, state: state_ };
  return undefined;
}

function readCustomEvent(value: Value, fields: number): object | undefined {
  const value_ = value["value"];
  if (checkCustomEvent(value) !== undefined) return undefined;
  if (fields === 1) return { type: "custom", value: value_ };
  return undefined;
}

function readCheckpointEvent(value: Value, fields: number): object | undefined {
  const checkpoint_id_ = value["checkpoint_id"];
  const timestamp_ = value["timestamp"];
  const step_ = value["step"];
  const state_ = value["state"];
  if (checkCheckpointEvent(value) !== undefined) return undefined;
  if (fields === 4) return { type: "checkpoint", checkpoint_id: checkpoint_id_, timestamp: timestamp_, step: step_, state: state_ };
  const thread_id_ = value["thread_id"];
  const checkpoint_ns_ = value["checkpoint_ns"];
  if (thread_id_ !== undefined && !(typeof thread_id_ === "string")) return undefined;
  if (checkpoint_ns_ !== undefined && !(typeof checkpoint_ns_ === "string")) return undefined;
  switch ((thread_id_ === undefined ? 0 : 1) | (checkpoint_ns_ === undefined ? 0 : 2)) {
    case 1:
      return fields === 5 ? { type: "checkpoint", checkpoint_id: checkpoint_id_, timestamp: timestamp_, step: step_, state: state_, thread_id: thread_id_ } : undefined;
    case 2:
      return fields === 5 ? { type: "checkpoint", checkpoint_id: checkpoint_id_, timestamp: timestamp_, step: step_, state: state_, checkpoint_ns: checkpoint_ns_ } : undefined;
    case 3:
      return fields === 6 ? { type: "checkpoint", checkpoint_id: checkpoint_id_, timestamp: timestamp_, step: step_, state: state_, thread_id: thread_id_, checkpoint_ns: checkpoint_ns_ } : undefined;
    default:
      return undefined;
  }
}

function readTotExpandEvent(value: Value, fields: number): object | undefined {
  const candidates_ = value["candidates"];
  if (checkTotExpandEvent(value) !== undefined) return undefined;
  if (fields === 1) return { type: "tot_expand", candidates: candidates_ };
  const ids_ = value["ids"];
  const parent_ = value["parent"];
  const depth_ = value["depth"];
  if (ids_ !== undefined && !(ids_ !== null)) return undefined;
  if (parent_ !== undefined && !(typeof parent_ === "string")) return undefined;
  if (depth_ !== undefined && !(typeof depth_ === "number" && Number.isInteger(depth_) && depth_ >= 0 && depth_ <= 9007199254740991)) return undefined;
  switch ((ids_ === undefined ? 0 : 1) | (parent_ === undefined ? 0 : 2) | (depth_ === undefined ? 0 : 4)) {
    case 1:
      return fields === 2 ? { type: "tot_expand", candidates: candidates_, ids: ids_ } : undefined;
    case 2:
      return fields === 2 ? { type: "tot_expand", candidates: candidates_, parent: parent_ } : undefined;
    case 3:
      return fields === 3 ? { type: "tot_expand", candidates: candidates_, ids: ids_, parent: parent_ } : undefined;
    case 4:
      return fields === 2 ? { type: "tot_expand", candidates: candidates_, depth: depth_ } : undefined;
    case 5:
      return fields === 3 ? { type: "tot_expand", candidates: candidates_, ids: ids_, depth: depth_ } : undefined;
    case 6:
      return fields === 3 ? { type: "tot_expand", candidates: candidates_, parent: parent_, depth: depth_ } : undefined;
    case 7:
      return fields === 4 ? { type: "tot_expand", candidates: candidates_, ids: ids_, parent: parent_, depth: depth_ } : undefined;
    default:
      return undefined;
  }
}

function readTotEvaluateEvent(value: Value, fields: number): object | undefined {
  const chosen_ = value["chosen"];
  const scores_ = value["scores"];
  if (checkTotEvaluateEvent(value) !== undefined) return undefined;
  if (fields === 2) return { type: "tot_evaluate", chosen: chosen_, scores: scores_ };
  const ids_ = value["ids"];
  const kept_ = value["kept"];
  const depth_ = value["depth"];
  if (ids_ !== undefined && !(ids_ !== null)) return undefined;
  if (kept_ !== undefined && !(kept_ !== null)) return undefined;
  if (depth_ !== undefined && !(typeof depth_ === "number" && Number.isInteger(depth_) && depth_ >= 0 && depth_ <= 9007199254740991)) return undefined;
  switch ((ids_ === undefined ? 0 : 1) | (kept_ === undefined ? 0 : 2) | (depth_ === undefined ? 0 : 4)) {
    case 1:
      return fields === 3 ? { type: "tot_evaluate", chosen: chosen_, scores: scores_, ids: ids_ } : undefined;
    case 2:
      return fields === 3 ? { type: "tot_evaluate", chosen: chosen_, scores: scores_, kept: kept_ } : undefined;
    case 3:
      return fields === 4 ? { type: "tot_evaluate", chosen: chosen_, scores: scores_, ids: ids_, kept: kept_ } : undefined;
    case 4:
      return fields === 3 ? { type: "tot_evaluate", chosen: chosen_, scores: scores_, depth: depth_ } : undefined;
    case 5:
      return fields === 4 ? { type: "tot_evaluate", chosen: chosen_, scores: scores_, ids: ids_, depth: depth_ } : undefined;
    case 6:
      return fields === 4 ? { type: "tot_evaluate", chosen: chosen_, scores: scores_, kept: kept_, depth: depth_ } : undefined;
    case 7:
      return fields === 5 ? { type: "tot_evaluate", chosen: chosen_, scores: scores_, ids: ids_, kept: kept_, depth: depth_ } : undefined;
    default:
      return undefined;
  }
}

function readTotBacktrackEvent(value: Value, fields: number): object | undefined {
  const reason_ = value["reason"];
  const to_depth_ = value["to_depth"];
  if (!(typeof reason_ === "string")) return undefined;
  if (!(typeof to_depth_ === "number" && Number.isInteger(to_depth_) && to_depth_ >= 0 && to_depth_ <= 9007199254740991)) return undefined;
  if (fields === 2) return { type: "tot_backtrack", reason: reason_, to_depth: to_depth_ };
  const from_ = value["from"];
  const to_ = value["to"];
  if (from_ !== undefined && !(typeof from_ === "string")) return undefined;
  if (to_ !== undefined && !(typeof to_ === "string")) return undefined;
  switch ((from_ === undefined ? 0 : 1) | (to_ === undefined ? 0 : 2)) {
    case 1:
      return fields === 3 ? { type: "tot_backtrack", reason: reason_, to_depth: to_depth_, from: from_ } : undefined;
    case 2:
      return fields === 3 ? { type: "tot_backtrack", reason: reason_, to_depth: to_depth_, to: to_ } : undefined;
    case 3:
      return fields === 4 ? { type: "tot_backtrack", reason: reason_, to_depth: to_depth_, from: from_, to: to_ } : undefined;
    default:
      return undefined;
  }
}

function readGotPlanEvent(value: Value, fields: number): object | undefined {
  const node_count_ = value["node_count"];
  const edge_count_ = value["edge_count"];
  const node_ids_ = value["node_ids"];
  if (checkGotPlanEvent(value) !== undefined) return undefined;
  if (fields === 3) return { type: "got_plan", node_count: node_count_, edge_count: edge_count_, node_ids: node_ids_ };
  const edges_ = value["edges"];
  const labels_ = value["labels"];
  if (edges_ !== undefined && !(edges_ !== null)) return undefined;
  if (labels_ !== undefined && !(labels_ !== null)) return undefined;
  switch ((edges_ === undefined ? 0 : 1) | (labels_ === undefined ? 0 : 2)) {
    case 1:
      return fields === 4 ? { type: "got_plan", node_count: node_count_, edge_count: edge_count_, node_ids: node_ids_, edges: edges_ } : undefined;
    case 2:
      return fields === 4 ? { type: "got_plan", node_count: node_count_, edge_count: edge_count_, node_ids: node_ids_, labels: labels_ } : undefined;
    case 3:
      return fields === 5 ? { type: "got_plan", node_count: node_count_, edge_count: edge_count_, node_ids: node_ids_, edges: edges_, labels: labels_ } : undefined;
    default:
      return undefined;
  }
}

function readGotNodeStartEvent(value: Value, fields: number): object | undefined {
  const id_ = value["id"];
  if (!(typeof id_ === "string")) return undefined;
  if (fields === 1) return { type: "got_node_start", id: id_ };
  return undefined;
}

function readGotNodeCompleteEvent(value: Value, fields: number): object | undefined {
  const id_ = value["id"];
  const result_summary_ = value["result_summary"];
  if (!(typeof id_ === "string")) return undefined;
  if (!(typeof result_summary_ === "string")) return undefined;
  if (fields === 2) return { type: "got_node_complete", id: id_, result_summary: result_summary_ };
  return undefined;
}

function readGotNodeFailedEvent(value: Value, fields: number): object | undefined {
  const id_ = value["id"];
  const error_ = value["error"];
  if (!(typeof id_ === "string")) return undefined;
  if (!(typeof error_ === "string")) return undefined;
  if (fields === 2) return { type: "got_node_failed", id: id_, error: error_ };
  return undefined;
}

function readGotExpandEvent(value: Value, fields: number): object | undefined {
  const node_id_ = value["node_id"];
  const nodes_added_ = value["nodes_added"];
  const edges_added_ = value["edges_added"];
  if (checkGotExpandEvent(value) !== undefined) return undefined;
  if (fields === 3) return { type: "got_expand", node_id: node_id_, nodes_added: nodes_added_, edges_added: edges_added_ };
  const nodes_ = value["nodes"];
  const edges_ = value["edges"];
  if (nodes_ !== undefined && !(nodes_ !== null)) return undefined;
  if (edges_ !== undefined && !(edges_ !== null)) return undefined;
  switch ((nodes_ === undefined ? 0 : 1) | (edges_ === undefined ? 0 : 2)) {
    case 1:
      return fields === 4 ? { type: "got_expand", node_id: node_id_, nodes_added: nodes_added_, edges_added: edges_added_, nodes: nodes_ } : undefined;
    case 2:
      return fields === 4 ? { type: "got_expand", node_id: node_id_, nodes_added: nodes_added_, edges_added: edges_added_, edges: edges_ } : undefined;
    case 3:
      return fields === 5 ? { type: "got_expand", node_id: node_id_, nodes_added: nodes_added_, edges_added: edges_added_, nodes: nodes_, edges: edges_ } : undefined;
    default:
      return undefined;
  }
}

function readToolCallChunkEvent(value: Value, fields: number): object | undefined {
  const arguments_delta_ = value["arguments_delta"];
  if (!(typeof arguments_delta_ === "string")) return undefined;
  if (fields === 1) return { type: "tool_call_chunk", arguments_delta: arguments_delta_ };
  const call_id_ = value["call_id"];
  const name_ = value["name"];
  const index_ = value["index"];
  if (call_id_ !== undefined && !(typeof call_id_ === "string")) return undefined;
  if (name_ !== undefined && !(typeof name_ === "string")) return undefined;
  if (index_ !== undefined && !(typeof index_ === "number" && Number.isInteger(index_) && index_ >= 0 && index_ <= 9007199254740991)) return undefined;
  switch ((call_id_ === undefined ? 0 : 1) | (name_ === undefined ? 0 : 2) | (index_ === undefined ? 0 : 4)) {
    case 1:
      return fields === 2 ? { type: "tool_call_chunk", call_id: call_id_, arguments_delta: arguments_delta_ } : undefined;
    case 2:
      return fields === 2 ? { type: "tool_call_chunk", name: name_, arguments_delta: arguments_delta_ } : undefined;
    case 3:
      return fields === 3 ? { type: "tool_call_chunk", call_id: call_id_, name: name_, arguments_delta: arguments_delta_ } : undefined;
    case 4:
      return fields === 2 ? { type: "tool_call_chunk", arguments_delta: arguments_delta_, index: index_ } : undefined;
    case 5:
      return fields === 3 ? { type: "tool_call_chunk", call_id: call_id_, arguments_delta: arguments_delta_, index: index_ } : undefined;
    case 6:
      return fields === 3 ? { type: "tool_call_chunk", name: name_, arguments_delta: arguments_delta_, index: index_ } : undefined;
    case 7:
      return fields === 4 ? { type: "tool_call_chunk", call_id: call_id_, name: name_, arguments_delta: arguments_delta_, index: index_ } : undefined;
    default:
      return undefined;
  }
}

function readToolCallEvent(value: Value, fields: number): object | undefined {
  const name_ = value["name"];
  const arguments_ = value["arguments"];
  if (checkToolCallEvent(value) !== undefined) return undefined;
  if (fields === 2) return { type: "tool_call", name: name_, arguments: arguments_ };
  const call_id_ = value["call_id"];
  const description_ = value["description"];
  const index_ = value["index"];
  const raw_arguments_ = value["raw_arguments"];
  if (call_id_ !== undefined && !(typeof call_id_ === "string")) return undefined;
  if (description_ !== undefined && !(typeof description_ === "string")) return undefined;
  if (index_ !== undefined && !(typeof index_ === "number" && Number.isInteger(index_) && index_ >= 0 && index_ <= 9007199254740991)) return undefined;
  if (raw_arguments_ !== undefined && !(typeof raw_arguments_ === "string")) return undefined;
  const event: { [field: string]: unknown } = { type: "tool_call" };
  let left = fields - 2;
  if (call_id_ !== undefined) {
    event["call_id"] = call_id_;
    left--;
  }
  event["name"] = name_;
  event["arguments"] = arguments_;
  if (description_ !== undefined) {
    event["description"] = description_;
    left--;
  }
  if (index_ !== undefined) {
    event["index"] = index_;
    left--;
  }
  if (raw_arguments_ !== undefined) {
    event["raw_arguments"] = raw_arguments_;
    left--;
  }
  return left === 0 ? event : undefined;
}

function readToolStartEvent(value: Value, fields: number): object | undefined {
  const name_ = value["name"];
  if (!(typeof name_ === "string")) return undefined;
  if (fields === 1) return { type: "tool_start", name: name_ };
  const call_id_ = value["call_id"];
  if (call_id_ !== undefined && !(typeof call_id_ === "string")) return undefined;
  switch ((call_id_ === undefined ? 0 : 1)) {
    case 1:
      return fields === 2 ? { type: "tool_start", call_id: call_id_, name: name_ } : undefined;
    default:
      return undefined;
  }
}

function readToolOutputEvent(value: Value, fields: number): object | undefined {
  const name_ = value["name"];
  const content_ = value["content"];
  if (!(typeof name_ === "string")) return undefined;
  if (!(typeof content_ === "string")) return undefined;
  if (fields === 2) return { type: "tool_output", name: name_, content: content_ };
  const call_id_ = value["call_id"];
  if (call_id_ !== undefined && !(typeof call_id_ === "string")) return undefined;
  switch ((call_id_ === undefined ? 0 : 1)) {
    case 1:
      return fields === 3 ? { type: "tool_output", call_id: call_id_, name: name_, content: content_ } : undefined;
    default:
      return undefined;
  }
}

function readToolEndEvent(value: Value, fields: number): object | undefined {
  const name_ = value["name"];
  const result_ = value["result"];
  const is_error_ = value["is_error"];
  if (checkToolEndEvent(value) !== undefined) return undefined;
  if (fields === 3) return { type: "tool_end", name: name_, result: result_, is_error: is_error_ };
  const call_id_ = value["call_id"];
  const output_ = value["output"];
  const error_code_ = value["error_code"];
  const duration_ms_ = value["duration_ms"];
  if (call_id_ !== undefined && !(typeof call_id_ === "string")) return undefined;
  if (output_ !== undefined && !(output_ !== null)) return undefined;
  if (error_code_ !== undefined && !(typeof error_code_ === "string")) return undefined;
  if (duration_ms_ !== undefined && !(typeof duration_ms_ === "number" && Number.isFinite(duration_ms_) && duration_ms_ >= 0)) return undefined;
  const event: { [field: string]: unknown } = { type: "tool_end" };
  let left = fields - 3;
  if (call_id_ !== undefined) {
    event["call_id"] = call_id_;
    left--;
  }
  event["name"] = name_;
  event["result"] = result_;
  event["is_error"] = is_error_;
  if (output_ !== undefined) {
    event["output"] = output_;
    left--;
  }
  if (error_code_ !== undefined) {
    event["error_code"] = error_code_;
    left--;
  }
  if (duration_ms_ !== undefined) {
    event["duration_ms"] = duration_ms_;
    left--;
  }
  return left === 0 ? event : undefined;
}

function readToolApprovalEvent(value: Value, fields: number): object | undefined {
  const name_ = value["name"];
  const arguments_ = value["arguments"];
  if (checkToolApprovalEvent(value) !== undefined) return undefined;
  if (fields === 2) return { type: "tool_approval", name: name_, arguments: arguments_ };
  const call_id_ = value["call_id"];
  const expires_at_ = value["expires_at"];
  if (call_id_ !== undefined && !(typeof call_id_ === "string")) return undefined;
  if (expires_at_ !== undefined && !(typeof expires_at_ === "number" && Number.isFinite(expires_at_))) return undefined;
  switch ((call_id_ === undefined ? 0 : 1) | (expires_at_ === undefined ? 0 : 2)) {
    case 1:
      return fields === 3 ? { type: "tool_approval", call_id: call_id_, name: name_, arguments: arguments_ } : undefined;
    case 2:
      return fields === 3 ? { type: "tool_approval", name: name_, arguments: arguments_, expires_at: expires_at_ } : undefined;
    case 3:
      return fields === 4 ? { type: "tool_approval", call_id: call_id_, name: name_, arguments: arguments_, expires_at: expires_at_ } : undefined;
    default:
      return undefined;
  }
}

function readReplyEvent(value: Value, fields: number): object | undefined {
  const reply_ = value["reply"];
  if (!(typeof reply_ === "string")) return undefined;
  if (fields === 1) return { type: "reply", reply: reply_ };
  return undefined;
}

function readRunEndEvent(value: Value, fields: number): object | undefined {
  const status_ = value["status"];
  if (checkRunEndEvent(value) !== undefined) return undefined;
  if (fields === 1) return { type: "run_end", status: status_ };
  const summary_ = value["summary"];
  const first_event_id_ = value["first_event_id"];
  const last_event_id_ = value["last_event_id"];
  const frame_count_ = value["frame_count"];
  const reason_ = value["reason"];
  const code_ = value["code"];
  if (summary_ !== undefined && !(summary_ !== null)) return undefined;
  if (first_event_id_ !== undefined && !(typeof first_event_id_ === "number" && Number.isInteger(first_event_id_) && first_event_id_ >= 0 && first_event_id_ <= 9007199254740991)) return undefined;
  if (last_event_id_ !== undefined && !(typeof last_event_id_ === "number" && Number.isInteger(last_event_id_) && last_event_id_ >= 0 && last_event_id_ <= 9007199254740991)) return undefined;
  if (frame_count_ !== undefined && !(typeof frame_count_ === "number" && Number.isInteger(frame_count_) && frame_count_ >= 0 && frame_count_ <= 9007199254740991)) return undefined;
  if (reason_ !== undefined && !(typeof reason_ === "string")) return undefined;
  if (code_ !== undefined && !(typeof code_ === "string")) return undefined;
  const event: { [field: string]: unknown } = { type: "run_end" };
  let left = fields - 1;
  event["status"] = status_;
  if (summary_ !== undefined) {
    event["summary"] = summary_;
    left--;
  }
  if (first_event_id_ !== undefined) {
    event["first_event_id"] = first_event_id_;
    left--;
  }
  if (last_event_id_ !== undefined) {
    event["last_event_id"] = last_event_id_;
    left--;
  }
  if (frame_count_ !== undefined) {
    event["frame_count"] = frame_count_;
    left--;
  }
  if (reason_ !== undefined) {
    event["reason"] = reason_;
    left--;
  }
  if (code_ !== undefined) {
    event["code"] = code_;
    left--;
  }
  return left === 0 ? event : undefined;
}

function readReasoningChunkEvent(value: Value, fields: number): object | undefined {
  const content_ = value["content"];
  if (!(typeof content_ === "string")) return undefined;
  if (fields === 1) return { type: "reasoning_chunk", content: content_ };
  const id_ = value["id"];
  const stage_ = value["stage"];
  if (id_ !== undefined && !(typeof id_ === "string")) return undefined;
  if (stage_ !== undefined && !(stage_ === "reasoning" || stage_ === "planning" || stage_ === "analyzing")) return undefined;
  switch ((id_ === undefined ? 0 : 1) | (stage_ === undefined ? 0 : 2)) {
    case 1:
      return fields === 2 ? { type: "reasoning_chunk", content: content_, id: id_ } : undefined;
    case 2:
      return fields === 2 ? { type: "reasoning_chunk", content: content_, stage: stage_ } : undefined;
    case 3:
      return fields === 3 ? { type: "reasoning_chunk", content: content_, id: id_, stage: stage_ } : undefined;
    default:
      return undefined;
  }
}

function readReasoningEndEvent(value: Value, fields: number): object | undefined {
  if (fields === 0) return { type: "reasoning_end" };
  const id_ = value["id"];
  const duration_ms_ = value["duration_ms"];
  if (id_ !== undefined && !(typeof id_ === "string")) return undefined;
  if (duration_ms_ !== undefined && !(typeof duration_ms_ === "number" && Number.isFinite(duration_ms_) && duration_ms_ >= 0)) return undefined;
  switch ((id_ === undefined ? 0 : 1) | (duration_ms_ === undefined ? 0 : 2)) {
    case 1:
      return fields === 1 ? { type: "reasoning_end", id: id_ } : undefined;
    case 2:
      return fields === 1 ? { type: "reasoning_end", duration_ms: duration_ms_ } : undefined;
    case 3:
      return fields === 2 ? { type: "reasoning_end", id: id_, duration_ms: duration_ms_ } : undefined;
    default:
      return undefined;
  }
}

function readToolProgressEvent(value: Value, fields: number): object | undefined {
  const progress_ = value["progress"];
  if (!(typeof progress_ === "number" && Number.isFinite(progress_) && progress_ >= 0 && progress_ <= 100)) return undefined;
  if (fields === 1) return { type: "tool_progress", progress: progress_ };
  const call_id_ = value["call_id"];
  const name_ = value["name"];
  const message_ = value["message"];
  if (call_id_ !== undefined && !(typeof call_id_ === "string")) return undefined;
  if (name_ !== undefined && !(typeof name_ === "string")) return undefined;
  if (message_ !== undefined && !(typeof message_ === "string")) return undefined;
  switch ((call_id_ === undefined ? 0 : 1) | (name_ === undefined ? 0 : 2) | (message_ === undefined ? 0 : 4)) {
    case 1:
      return fields === 2 ? { type: "tool_progress", call_id: call_id_, progress: progress_ } : undefined;
    case 2:
      return fields === 2 ? { type: "tool_progress", name: name_, progress: progress_ } : undefined;
    case 3:
      return fields === 3 ? { type: "tool_progress", call_id: call_id_, name: name_, progress: progress_ } : undefined;
    case 4:
      return fields === 2 ? { type: "tool_progress", progress: progress_, message: message_ } : undefined;
    case 5:
      return fields === 3 ? { type: "tool_progress", call_id: call_id_, progress: progress_, message: message_ } : undefined;
    case 6:
      return fields === 3 ? { type: "tool_progress", name: name_, progress: progress_, message: message_ } : undefined;
    case 7:
      return fields === 4 ? { type: "tool_progress", call_id: call_id_, name: name_, progress: progress_, message: message_ } : undefined;
    default:
      return undefined;
  }
}

function readToolApprovalResultEvent(value: Value, fields: number): object | undefined {
  const decision_ = value["decision"];
  if (checkToolApprovalResultEvent(value) !== undefined) return undefined;
  if (fields === 1) return { type: "tool_approval_result", decision: decision_ };
  const call_id_ = value["call_id"];
  const name_ = value["name"];
  const reason_ = value["reason"];
  const arguments_ = value["arguments"];
  const actor_ = value["actor"];
  if (call_id_ !== undefined && !(typeof call_id_ === "string")) return undefined;
  if (name_ !== undefined && !(typeof name_ === "string")) return undefined;
  if (reason_ !== undefined && !(typeof reason_ === "string")) return undefined;
  if (arguments_ !== undefined && !(arguments_ !== null)) return undefined;
  if (actor_ !== undefined && !(typeof actor_ === "string")) return undefined;
  const event: { [field: string]: unknown } = { type: "tool_approval_result" };
  let left = fields - 1;
  if (call_id_ !== undefined) {
    event["call_id"] = call_id_;
    left--;
  }
  if (name_ !== undefined) {
    event["name"] = name_;
    left--;
  }
  event["decision"] = decision_;
  if (reason_ !== undefined) {
    event["reason"] = reason_;
    left--;
  }
  if (arguments_ !== undefined) {
    event["arguments"] = arguments_;
    left--;
  }
  if (actor_ !== undefined) {
    event["actor"] = actor_;
    left--;
  }
  return left === 0 ? event : undefined;
}

function readDataEvent(value: Value, fields: number): object | undefined {
  const data_type_ = value["data_type"];
  const data_ = value["data"];
  if (checkDataEvent(value) !== undefined) return undefined;
  if (fields === 2) return { type: "data", data_type: data_type_, data: data_ };
  const metadata_ = value["metadata"];
  if (metadata_ !== undefined && !(metadata_ !== null)) return undefined;
  switch ((metadata_ === undefined ? 0 : 1)) {
    case 1:
      return fields === 3 ? { type: "data", data_type: data_type_, data: data_, metadata: metadata_ } : undefined;
    default:
      return undefined;
  }
}

function readImageEvent(value: Value, fields: number): object | undefined {
  const url_ = value["url"];
  if (!(typeof url_ === "string")) return undefined;
  if (fields === 1) return { type: "image", url: url_ };
  const media_type_ = value["media_type"];
  const alt_ = value["alt"];
  if (media_type_ !== undefined && !(typeof media_type_ === "string")) return undefined;
  if (alt_ !== undefined && !(typeof alt_ === "string")) return undefined;
  switch ((media_type_ === undefined ? 0 : 1) | (alt_ === undefined ? 0 : 2)) {
    case 1:
      return fields === 2 ? { type: "image", url: url_, media_type: media_type_ } : undefined;
    case 2:
      return fields === 2 ? { type: "image", url: url_, alt: alt_ } : undefined;
    case 3:
      return fields === 3 ? { type: "image", url: url_, media_type: media_type_, alt: alt_ } : undefined;
    default:
      return undefined;
  }
}

function readTodoListEvent(value: Value, fields: number): object | undefined {
  const list_id_ = value["list_id"];
  const items_ = value["items"];
  if (checkTodoListEvent(value) !== undefined) return undefined;
  if (fields === 2) return { type: "todo_list", list_id: list_id_, items: items_ };
  const title_ = value["title"];
  if (title_ !== undefined && !(typeof title_ === "string")) return undefined;
  switch ((title_ === undefined ? 0 : 1)) {
    case 1:
      return fields === 3 ? { type: "todo_list", list_id: list_id_, title: title_, items: items_ } : undefined;
    default:
      return undefined;
  }
}

function readTodoUpdateEvent(value: Value, fields: number): object | undefined {
  const list_id_ = value["list_id"];
  const item_id_ = value["item_id"];
  if (!(typeof list_id_ === "string")) return undefined;
  if (!(typeof item_id_ === "string")) return undefined;
  if (fields === 2) return { type: "todo_update", list_id: list_id_, item_id: item_id_ };
  const completed_ = value["completed"];
  const text_ = value["text"];
  if (completed_ !== undefined && !(typeof completed_ === "boolean")) return undefined;
  if (text_ !== undefined && !(typeof text_ === "string")) return undefined;
  switch ((completed_ === undefined ? 0 : 1) | (text_ === undefined ? 0 : 2)) {
    case 1:
      return fields === 3 ? { type: "todo_update", list_id: list_id_, item_id: item_id_, completed: completed_ } : undefined;
    case 2:
      return fields === 3 ? { type: "todo_update", list_id: list_id_, item_id: item_id_, text: text_ } : undefined;
    case 3:
      return fields === 4 ? { type: "todo_update", list_id: list_id_, item_id: item_id_, completed: completed_, text: text_ } : undefined;
    default:
      return undefined;
  }
}

function readErrorEvent(value: Value, fields: number): object | undefined {
  const message_ = value["message"];
  if (checkErrorEvent(value) !== undefined) return undefined;
  if (fields === 1) return { type: "error", message: message_ };
  const code_ = value["code"];
  const stage_ = value["stage"];
  const error_type_ = value["error_type"];
  const recoverable_ = value["recoverable"];
  const call_id_ = value["call_id"];
  const details_ = value["details"];
  if (code_ !== undefined && !(typeof code_ === "string")) return undefined;
  if (stage_ !== undefined && !(stage_ === "llm_generate" || stage_ === "llm_generate_with_tools" || stage_ === "llm_stream" || stage_ === "tool_execute" || stage_ === "iteration_limit")) return undefined;
  if (error_type_ !== undefined && !(error_type_ === "validation" || error_type_ === "execution" || error_type_ === "timeout" || error_type_ === "system")) return undefined;
  if (recoverable_ !== undefined && !(typeof recoverable_ === "boolean")) return undefined;
  if (call_id_ !== undefined && !(typeof call_id_ === "string")) return undefined;
  if (details_ !== undefined && !(details_ !== null)) return undefined;
  const event: { [field: string]: unknown } = { type: "error" };
  let left = fields - 1;
  event["message"] = message_;
  if (code_ !== undefined) {
    event["code"] = code_;
    left--;
  }
  if (stage_ !== undefined) {
    event["stage"] = stage_;
    left--;
  }
  if (error_type_ !== undefined) {
    event["error_type"] = error_type_;
    left--;
  }
  if (recoverable_ !== undefined) {
    event["recoverable"] = recoverable_;
    left--;
  }
  if (call_id_ !== undefined) {
    event["call_id"] = call_id_;
    left--;
  }
  if (details_ !== undefined) {
    event["details"] = details_;
    left--;
  }
  return left === 0 ? event : undefined;
}

function readRetrievalCompleteEvent(value: Value, fields: number): object | undefined {
  const doc_count_ = value["doc_count"];
  if (checkRetrievalCompleteEvent(value) !== undefined) return undefined;
  if (fields === 1) return { type: "retrieval_complete", doc_count: doc_count_ };
  const query_ = value["query"];
  const sources_ = value["sources"];
  if (query_ !== undefined && !(typeof query_ === "string")) return undefined;
  if (sources_ !== undefined && !(sources_ !== null)) return undefined;
  switch ((query_ === undefined ? 0 : 1) | (sources_ === undefined ? 0 : 2)) {
    case 1:
      return fields === 2 ? { type: "retrieval_complete", doc_count: doc_count_, query: query_ } : undefined;
    case 2:
      return fields === 2 ? { type: "retrieval_complete", doc_count: doc_count_, sources: sources_ } : undefined;
    case 3:
      return fields === 3 ? { type: "retrieval_complete", doc_count: doc_count_, query: query_, sources: sources_ } : undefined;
    default:
      return undefined;
  }
}

function readCompressionAppliedEvent(value: Value, fields: number): object | undefined {
  const before_tokens_ = value["before_tokens"];
  const after_tokens_ = value["after_tokens"];
  if (!(typeof before_tokens_ === "number" && Number.isInteger(before_tokens_) && before_tokens_ >= 0 && before_tokens_ <= 9007199254740991)) return undefined;
  if (!(typeof after_tokens_ === "number" && Number.isInteger(after_tokens_) && after_tokens_ >= 0 && after_tokens_ <= 9007199254740991)) return undefined;
  if (fields === 2) return { type: "compression_applied", before_tokens: before_tokens_, after_tokens: after_tokens_ };
  return undefined;
}

function readLlmStartEvent(value: Value, fields: number): object | undefined {
  const llm_call_id_ = value["llm_call_id"];
  if (!(typeof llm_call_id_ === "string")) return undefined;
  if (fields === 1) return { type: "llm_start", llm_call_id: llm_call_id_ };
  const model_ = value["model"];
  const attempt_ = value["attempt"];
  if (model_ !== undefined && !(typeof model_ === "string")) return undefined;
  if (attempt_ !== undefined && !(typeof attempt_ === "number" && Number.isInteger(attempt_) && attempt_ >= 0 && attempt_ <= 9007199254740991)) return undefined;
  switch ((model_ === undefined ? 0 : 1) | (attempt_ === undefined ? 0 : 2)) {
    case 1:
      return fields === 2 ? { type: "llm_start", llm_call_id: llm_call_id_, model: model_ } : undefined;
    case 2:
      return fields === 2 ? { type: "llm_start", llm_call_id: llm_call_id_, attempt: attempt_ } : undefined;
    case 3:
      return fields === 3 ? { type: "llm_start", llm_call_id: llm_call_id_, model: model_, attempt: attempt_ } : undefined;
    default:
      return undefined;
  }
}

function readLlmEndEvent(value: Value, fields: number): object | undefined {
  const llm_call_id_ = value["llm_call_id"];
  if (!(typeof llm_call_id_ === "string")) return undefined;
  if (fields === 1) return { type: "llm_end", llm_call_id: llm_call_id_ };
  const model_ = value["model"];
  const finish_reason_ = value["finish_reason"];
  const error_ = value["error"];
  const duration_ms_ = value["duration_ms"];
  if (model_ !== undefined && !(typeof model_ === "string")) return undefined;
  if (finish_reason_ !== undefined && !(finish_reason_ === "stop" || finish_reason_ === "length" || finish_reason_ === "tool_calls" || finish_reason_ === "content_filter" || finish_reason_ === "error" || finish_reason_ === "cancelled")) return undefined;
  if (error_ !== undefined && !(typeof error_ === "string")) return undefined;
  if (duration_ms_ !== undefined && !(typeof duration_ms_ === "number" && Number.isFinite(duration_ms_) && duration_ms_ >= 0)) return undefined;
  const event: { [field: string]: unknown } = { type: "llm_end" };
  let left = fields - 1;
  event["llm_call_id"] = llm_call_id_;
  if (model_ !== undefined) {
    event["model"] = model_;
    left--;
  }
  if (finish_reason_ !== undefined) {
    event["finish_reason"] = finish_reason_;
    left--;
  }
  if (error_ !== undefined) {
    event["error"] = error_;
    left--;
  }
  if (duration_ms_ !== undefined) {
    event["duration_ms"] = duration_ms_;
    left--;
  }
  return left === 0 ? event : undefined;
}

function readForeignEvent(value: Value, fields: number): object | undefined {
  const dialect_ = value["dialect"];
  const frame_ = value["frame"];
  if (checkForeignEvent(value) !== undefined) return undefined;
  if (fields === 2) return { type: "foreign", dialect: dialect_, frame: frame_ };
  return undefined;
}

/** The code that handles one type. */
export interface LoomEventCode {
  /** The first thing wrong with the fields. */
  check(value: Value, hints?: Hint[]): Fault | undefined;
  /** The event in a flat frame that has `fields` fields beside its type and its envelope, if all is in order. */
  read(value: Value, fields: number): object | undefined;
}

const CODE: ReadonlyMap<unknown, LoomEventCode> = new Map<string, LoomEventCode>([
  ["run_start", { check: checkRunStartEvent, read: readRunStartEvent }],
  ["node_enter", { check: checkNodeEnterEvent, read: readNodeEnterEvent }],
  ["node_exit", { check: checkNodeExitEvent, read: readNodeExitEvent }],
  ["message_chunk", { check: checkMessageChunkEvent, read: readMessageChunkEvent }],
  ["usage", { check: checkUsageEvent, read: readUsageEvent }],
  ["values", { check: checkValuesEvent, read: readValuesEvent }],
  ["updates", { check: checkUpdatesEvent, read: readUpdatesEvent }],
  ["custom", { check: checkCustomEvent, read: readCustomEvent }],
  ["checkpoint", { check: checkCheckpointEvent, read: readCheckpointEvent }],
  ["tot_expand", { check: checkTotExpandEvent, read: readTotExpandEvent }],
  ["tot_evaluate", { check: checkTotEvaluateEvent, read: readTotEvaluateEvent }],
  ["tot_backtrack", { check: checkTotBacktrackEvent, read: readTotBacktrackEvent }],
  ["got_plan", { check: checkGotPlanEvent, read: readGotPlanEvent }],
  ["got_node_start", { check: checkGotNodeStartEvent, read: readGotNodeStartEvent }],
  ["got_node_complete", { check: checkGotNodeCompleteEvent, read: readGotNodeCompleteEvent }],
  ["got_node_failed", { check: checkGotNodeFailedEvent, read: readGotNodeFailedEvent }],
  ["got_expand", { check: checkGotExpandEvent, read: readGotExpandEvent }],
  ["tool_call_chunk", { check: checkToolCallChunkEvent, read: readToolCallChunkEvent }],
  ["tool_call", { check: checkToolCallEvent, read: readToolCallEvent }],
  ["tool_start", { check: checkToolStartEvent, read: readToolStartEvent }],
  ["tool_output", { check: checkToolOutputEvent, read: readToolOutputEvent }],
  ["tool_end", { check: checkToolEndEvent, read: readToolEndEvent }],
  ["tool_approval", { check: checkToolApprovalEvent, read: readToolApprovalEvent }],
  ["reply", { check: checkReplyEvent, read: readReplyEvent }],
  ["run_end", { check: checkRunEndEvent, read: readRunEndEvent }],
  ["reasoning_chunk", { check: checkReasoningChunkEvent, read: readReasoningChunkEvent }],
  ["reasoning_end", { check: checkReasoningEndEvent, read: readReasoningEndEvent }],
  ["tool_progress", { check: checkToolProgressEvent, read: readToolProgressEvent }],
  ["tool_approval_result", { check: checkToolApprovalResultEvent, read: readToolApprovalResultEvent }],
  ["data", { check: checkDataEvent, read: readDataEvent }],
  ["image", { check: checkImageEvent, read: readImageEvent }],
  ["todo_list", { check: checkTodoListEvent, read: readTodoListEvent }],
  ["todo_update", { check: checkTodoUpdateEvent, read: readTodoUpdateEvent }],
  ["error", { check: checkErrorEvent, read: readErrorEvent }],
  ["retrieval_complete", { check: checkRetrievalCompleteEvent, read: readRetrievalCompleteEvent }],
  ["compression_applied", { check: checkCompressionAppliedEvent, read: readCompressionAppliedEvent }],
  ["llm_start", { check: checkLlmStartEvent, read: readLlmStartEvent }],
  ["llm_end", { check: checkLlmEndEvent, read: readLlmEndEvent }],
  ["foreign", { check: checkForeignEvent, read: readForeignEvent }],
]);

export function findLoomEventCode(type: string): LoomEventCode | undefined {
  return CODE.get(type);
}

/** Checks the fields of a value whose `type` is known; undefined when they fit, and when the type is none of these. */
export function findLoomEventFault(given: object, hints?: Hint[]): Fault | undefined {
  const value = given as Value;
  return CODE.get(value["type"])?.check(value, hints);
}
