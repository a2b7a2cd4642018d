/**
 * Generated from the declarations by `npm run generate`; edit those instead.
 * The types of the vocabulary, and the forms a value is checked against.
 */
import { findFault, readForm } from "./check-form.ts";
import type { Fault, Hint } from "./fault.ts";
import { createFormFinder, parseForm, type Form } from "./form.ts";
import type { Json, JsonObject } from "./json.ts";

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
  /** What the caller wants told with every callback of the run; kept in the log */
  readonly context?: JsonObject;
  /** Files that came with the message, by reference */
  readonly attachments?: readonly { readonly blob_id: string; readonly name?: string; readonly media_type: string; readonly bytes: number }[];
  /** Who asked for the run, e.g. token:k3x9; never a secret */
  readonly actor?: string;
  /** What the run may do with tools, by their names, `*` for the others: allow, ask or deny; what is neither denies */
  readonly tool_rules?: JsonObject;
}

/** A node run started (001 §4.2). */
export interface NodeEnterEvent {
  readonly type: "node_enter";
  /** Name of the node, e.g. think */
  readonly id: string;
  /** node_id of the node run it is inside of */
  readonly parent?: string;
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
  /** Path of the subgraph whose state it is; absent at the root */
  readonly checkpoint_ns?: string;
  /** True: `state` is what changed, by channel (`set`, `append` or `merge`), since the state before; false: it is whole, and those after it are changes */
  readonly delta?: boolean;
}

/** State after a node's result was merged (001 §4.2). */
export interface UpdatesEvent {
  readonly type: "updates";
  /** Name of the node */
  readonly id: string;
  /** The channels it wrote, after the merge */
  readonly state: Json;
  /** Its place among the node runs of its super-step, from 0: the order in which they are merged */
  readonly task?: number;
  /** Path of the subgraph whose state it is; absent at the root */
  readonly checkpoint_ns?: string;
  /** True: `state` is what changed, by channel (`set`, `append` or `merge`), since the state before; false: it is whole, and those after it are changes */
  readonly delta?: boolean;
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
  /** Node runs of the next super-step, in the order of their merge; empty when the graph is done */
  readonly next?: readonly { readonly id: string; readonly input?: Json }[];
  /** True: `state` is what changed, by channel (`set`, `append` or `merge`), since the state before; false: it is whole, and those after it are changes */
  readonly delta?: boolean;
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
  /** What each node does with the results it needs, in the order of node_ids */
  readonly operations?: readonly ("generate" | "aggregate" | "refine" | "score" | (string & {}))[];
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
  /** Ids of the nodes whose results it has compared */
  readonly scored?: readonly string[];
  /** One score per node, in the order of scored */
  readonly scores?: readonly number[];
}

/** A node of the graph failed (001 §4.2). */
export interface GotNodeFailedEvent {
  readonly type: "got_node_failed";
  /** Id of the graph's node */
  readonly id: string;
  /** Why */
  readonly error: string;
  /** True: it was not begun, because one it needs has no result */
  readonly skipped?: boolean;
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
  /** What each node is about, in the order of nodes */
  readonly labels?: readonly string[];
  /** What each node does with the results it needs, in the order of nodes */
  readonly operations?: readonly ("generate" | "aggregate" | "refine" | "score" | (string & {}))[];
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
  /** Of the tool and its arguments: an answer that names it agrees to these and no others */
  readonly digest?: string;
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
  readonly stage?: "llm_generate" | "llm_generate_with_tools" | "llm_stream" | "tool_execute" | "iteration_limit" | "retrieval" | "compression" | (string & {});
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
  readonly sources?: readonly { readonly title: string; readonly uri?: string; readonly snippet?: string; readonly score?: number; readonly ref?: number; readonly first_line?: number; readonly last_line?: number }[];
}

/** The context sent to the model was compressed (001 §8). */
export interface CompressionAppliedEvent {
  readonly type: "compression_applied";
  /** Tokens before */
  readonly before_tokens: number;
  /** Tokens after */
  readonly after_tokens: number;
  /** How: the oldest turns were summarised, or left out whole since no summary could be had, or results of tools were cut */
  readonly method?: "summary" | "drop" | "cut" | (string & {});
  /** Messages that are no longer sent */
  readonly covered_messages?: number;
  /** Digest of those messages: tells where the summary fits */
  readonly covered_digest?: string;
  /** What is sent in their place */
  readonly summary?: string;
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
  /** What for: the run itself when absent, or a summary of what the model is to read; that is no round of the agent */
  readonly purpose?: "answer" | "summary" | (string & {});
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
  /** Stable code of the error */
  readonly error_code?: string;
  /** How long it took */
  readonly duration_ms?: number;
  /** What for: the run itself when absent, or a summary of what the model is to read; that is no round of the agent */
  readonly purpose?: "answer" | "summary" | (string & {});
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

/** From the type to its form, as a text. */
export const LOOM_EVENT_FORMS = {
  "run_start": "001 §4.2>#run_id?s message?s agent?s contiguous?b source?=execute|stream request_id?s context?m attachments?[{blob_id:s name?s media_type:s bytes:i0} actor?s tool_rules?m",
  "node_enter": "001 §4.2>TaskStart#id:s parent?s",
  "node_exit": "001 §4.2>TaskEnd#id:s result:/Ok{Err:s}",
  "message_chunk": "001 §4.2>Messages#content:s id:s channel?=answer|thought format?~markdown|text|html is_complete?b",
  "usage": "001 §4.2>#prompt_tokens:i0 completion_tokens:i0 total_tokens:i0 llm_call_id?s",
  "values": "001 §4.2>#state:j checkpoint_ns?s delta?b",
  "updates": "001 §4.2>#id:s state:j task?i0 checkpoint_ns?s delta?b",
  "custom": "001 §4.2>#value:j",
  "checkpoint": "001 §4.2>#checkpoint_id:s timestamp:s step:i0 state:j thread_id?s checkpoint_ns?s next?[{id:s input?j} delta?b",
  "tot_expand": "001 §4.2>#candidates:[s ids?[s parent?s depth?i0",
  "tot_evaluate": "001 §4.2>#chosen:i0 scores:[n ids?[s kept?[s depth?i0",
  "tot_backtrack": "001 §4.2>#reason:s to_depth:i0 from?s to?s",
  "got_plan": "001 §4.2>#node_count:i0 edge_count:i0 node_ids:[s edges?[[s labels?[s operations?[~generate|aggregate|refine|score",
  "got_node_start": "001 §4.2>#id:s",
  "got_node_complete": "001 §4.2>#id:s result_summary:s scored?[s scores?[n",
  "got_node_failed": "001 §4.2>#id:s error:s skipped?b",
  "got_expand": "001 §4.2>#node_id:s nodes_added:i0 edges_added:i0 nodes?[s edges?[[s labels?[s operations?[~generate|aggregate|refine|score",
  "tool_call_chunk": "001 §4.2>#call_id?s name?s arguments_delta:s index?i0",
  "tool_call": "001 §4.2>#call_id?s name:s arguments:m description?s index?i0 raw_arguments?s",
  "tool_start": "001 §4.2>#call_id?s name:s",
  "tool_output": "001 §4.2>#call_id?s name:s content:s",
  "tool_end": "001 §4.2>#call_id?s name:s result:s is_error:b output?j error_code?s duration_ms?n0",
  "tool_approval": "001 §4.2>#call_id?s name:s arguments:m expires_at?n digest?s",
  "reply": "001 §5#reply:s",
  "run_end": "001 §8#status:=completed|error|cancelled summary?{total_tokens?i0 prompt_tokens?i0 completion_tokens?i0 duration_ms?n0 tool_calls?i0} first_event_id?i0 last_event_id?i0 frame_count?i0 reason?s code?s",
  "reasoning_chunk": "001 §8#content:s id?s stage?~reasoning|planning|analyzing",
  "reasoning_end": "001 §8#id?s duration_ms?n0",
  "tool_progress": "001 §8#call_id?s name?s progress:n0,100 message?s",
  "tool_approval_result": "001 §8#call_id?s name?s decision:=approved|rejected|expired reason?s arguments?m actor?s",
  "data": "001 §8#data_type:=dataframe|chart|image|custom data:m metadata?m",
  "image": "001 §8#url:s media_type?s alt?s",
  "todo_list": "001 §8#list_id:s title?s items:[{id:s text:s completed:b}",
  "todo_update": "001 §8#list_id:s item_id:s completed?b text?s",
  "error": "001 §8#message:s code?s stage?~llm_generate|llm_generate_with_tools|llm_stream|tool_execute|iteration_limit|retrieval|compression error_type?=validation|execution|timeout|system recoverable?b call_id?s details?m",
  "retrieval_complete": "001 §8#doc_count:i0 query?s sources?[{title:s uri?s snippet?s score?n ref?i0 first_line?i0 last_line?i0}",
  "compression_applied": "001 §8#before_tokens:i0 after_tokens:i0 method?~summary|drop|cut covered_messages?i0 covered_digest?s summary?s",
  "llm_start": "001 §8#llm_call_id:s model?s attempt?i0 purpose?~answer|summary",
  "llm_end": "001 §8#llm_call_id:s model?s finish_reason?~stop|length|tool_calls|content_filter|error|cancelled error?s error_code?s duration_ms?n0 purpose?~answer|summary",
  "foreign": "001 §8#dialect:s frame:j",
};

export const findLoomEventForm: (type: unknown) => Form | undefined = /* @__PURE__ */ createFormFinder(LOOM_EVENT_FORMS);

export const ENVELOPE_FORM: Form = /* @__PURE__ */ parseForm("001 §2#session_id?s run_id?s node_id?s event_id?i0 ts?n prev_event_id?i0 ext?m");

export function findEnvelopeFault(value: Value): Fault | undefined {
  return findFault(ENVELOPE_FORM.fields, value);
}

/** Checks the fields of a value whose `type` is known; undefined when they fit, and when the type is none of these. */
export function findLoomEventFault(given: object, hints?: Hint[]): Fault | undefined {
  const value = given as Value;
  const form = findLoomEventForm(value["type"]);
  return form === undefined ? undefined : findFault(form.fields, value, hints);
}

/** Reads an event from a flat frame that has so many fields beside its type and its envelope. */
function readByForm(type: string, value: Value, fields: number): object | undefined {
  return readForm(type, findLoomEventForm(type) as Form, value, fields);
}

/** Types that come in long rows: as they mostly come, they are read by code of their own, the others by their forms. */
export const LOOM_EVENT_READERS: {
  readonly [type: string]: (value: Value, fields: number) => object | undefined;
} = {
  "message_chunk": (value, fields) => {
    const content_ = value["content"];
    const id_ = value["id"];
    return fields === 2 && typeof content_ === "string" && typeof id_ === "string"
      ? { type: "message_chunk", content: content_, id: id_ }
      : readByForm("message_chunk", value, fields);
  },
  "reasoning_chunk": (value, fields) => {
    const content_ = value["content"];
    const id_ = value["id"];
    return fields === 2 && typeof content_ === "string" && typeof id_ === "string"
      ? { type: "reasoning_chunk", content: content_, id: id_ }
      : readByForm("reasoning_chunk", value, fields);
  },
  "tool_call_chunk": (value, fields) => {
    const call_id_ = value["call_id"];
    const name_ = value["name"];
    const arguments_delta_ = value["arguments_delta"];
    return fields === 3 && typeof call_id_ === "string" && typeof name_ === "string" && typeof arguments_delta_ === "string"
      ? { type: "tool_call_chunk", call_id: call_id_, name: name_, arguments_delta: arguments_delta_ }
      : readByForm("tool_call_chunk", value, fields);
  },
  "tool_output": (value, fields) => {
    const call_id_ = value["call_id"];
    const name_ = value["name"];
    const content_ = value["content"];
    return fields === 3 && typeof call_id_ === "string" && typeof name_ === "string" && typeof content_ === "string"
      ? { type: "tool_output", call_id: call_id_, name: name_, content: content_ }
      : readByForm("tool_output", value, fields);
  },
};
