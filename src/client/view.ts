/**
 * The view: everything a page, a terminal or a test can show of the received sessions. Types only.
 *
 * Invariants:
 * - Views are immutable and share structure: an object changes its identity only when something in it changed.
 * - Views are plain JSON: no classes, functions or cycles. Optional fields are left out, never undefined.
 * - The same records give the same view, no matter how they were batched.
 * - Names from 003 §3 are unchanged; the other fields are additions.
 */
import type { AnyEvent, ErrorCode, Json, JsonObject } from "../protocol/index.ts";
import type { RunStartEvent } from "../protocol/events.generated.ts";

/**
 * Status of a session's stream:
 * - `live`: more may arrive
 * - `gap`: frames are missing, temporarily or for good
 * - `repairing`: the connection is reconnecting or fetching missing frames
 * - `truncated`: the stream ended before a run did
 * - `complete`: every received run has ended and nothing is known to be missing
 * - `failed`: the connection was refused or gave up
 */
export type StreamStatus = "live" | "gap" | "repairing" | "truncated" | "complete" | "failed";

/** Why a stream is not `live` or `complete`. */
export interface StreamReason {
  readonly code: ErrorCode;
  /** Explanation in English, for people. */
  readonly message: string;
  /** Data for programs, such as the settings of the server that would allow a refused request. */
  readonly details?: JsonObject;
}

/** A kind of fault that the receiver cannot detect in this stream: a lost, duplicated or misplaced frame. */
export type UndetectableFault = "loss" | "duplicate" | "order";

/** State of a session's stream: whether the receiver has everything, and how sure it is. */
export interface StreamState {
  readonly status: StreamStatus;
  /** Why the status is neither `live` nor `complete`. */
  readonly reason?: StreamReason;
  /**
   * True while runs arrive that happened before the stream was opened. A run without an end may have ended. Needs a
   * transport that reports when it has caught up, such as the WebSocket transport.
   */
  readonly isCatchingUp?: true;
  /**
   * True when no frame of the shown runs can be missing, duplicated or out of order: every frame was numbered and
   * counted.
   */
  readonly verified: boolean;
  /** Faults the receiver could not have noticed in this stream. Empty when `verified` is true. */
  readonly undetectable: readonly UndetectableFault[];
}

/** All sessions of a receiver. */
export interface ReceiverView {
  /** Sessions in the order they were first received. */
  readonly sessions: readonly SessionView[];
  /** Number of sessions removed from the view because `maxSessions` was reached. */
  readonly earlierSessions: number;
}

/** One session: its turns, to-do lists and stream state. */
export interface SessionView {
  readonly id: string;
  readonly state: StreamState;
  /** Turns in the order they began. */
  readonly turns: readonly TurnView[];
  /** Number of turns removed from the view because `maxTurns` was reached. */
  readonly earlierTurns: number;
  /** Current to-do lists of the session, in the order they were created. Message parts refer to them by `listId`. */
  readonly todoLists: readonly TodoList[];
  /** Names of the tools whose calls need no approval in this session. Absent until one is allowed. */
  readonly allowedTools?: readonly string[];
  /** The latest feedback on each run. Absent until there is some. */
  readonly feedback?: readonly FeedbackView[];
  /** Events that belong to no run and appear nowhere else in the view. */
  readonly others: readonly AnyEvent[];
  /** The most recent rejected frames and rule violations, at most `maxIssues`. */
  readonly issues: readonly IssueView[];
  /** Number of all issues, including those no longer listed. */
  readonly issueCount: number;
}

/** A frame that was rejected or violated a rule of the protocol. */
export interface IssueView {
  /** Name of the violated rule, or an error code. */
  readonly rule: string;
  readonly message: string;
}

/** One run: the user's message and the agent's response. */
export interface TurnView {
  /** Unique within the session and stable: the run ID, or a generated key when the run ID is missing or repeated. */
  readonly key: string;
  readonly runId?: string;
  readonly requestId?: string;
  /** Instructions that its message added to the system prompt; absent if there are none or they are too long. */
  readonly instructions?: string;
  readonly agent?: string;
  /** Strategy settings of its message; absent if there are none. */
  readonly strategy?: { readonly [name: string]: string | number };
  readonly status: TurnStatus;
  /** Why the run did not complete. */
  readonly reason?: string;
  readonly code?: string;
  readonly startedAt?: number;
  readonly endedAt?: number;
  readonly durationMs?: number;
  /** Current attempt, from 2, of a run whose process died. Content of earlier attempts has `supersededBy`. */
  readonly attempt?: number;
  /** True when every frame of this run was received; see `StreamState.verified`. */
  readonly verified: boolean;
  /** True when the start of the run was not received. */
  readonly isPartial: boolean;
  /** The user's message, if there is one, followed by the assistant's. */
  readonly messages: readonly MessageView[];
  /** Node runs in the order they began. */
  readonly nodes: readonly NodeRunView[];
  readonly tree?: TreeView;
  readonly graph?: GraphView;
  readonly usage: UsageView;
  readonly modelCalls: readonly ModelCallView[];
  readonly checkpoints: readonly CheckpointView[];
  /** The graph state as last reported. */
  readonly values?: Json;
  readonly compressions: readonly CompressionView[];
  /** Events that appear nowhere else in the turn: `custom`, `foreign` and types this version does not know. */
  readonly others: readonly AnyEvent[];
  /** Number of events left out, in whole or in part, because a limit was reached. */
  readonly omitted: number;
}

/** Status of a run. */
export type TurnStatus = "running" | "completed" | "error" | "cancelled";

/**
 * A message as specified in 003 §3.1, with additions. `parts` has the same content in the order it was received.
 * Superseded parts are only in `parts`: the other fields have the final answer.
 */
export interface MessageState {
  readonly messageId: string;
  readonly role: "user" | "assistant";
  readonly thinkingContent: string;
  readonly mainContent: string;
  readonly toolCalls: readonly ToolCall[];
  readonly dataBlocks: readonly DataBlock[];
  /** True while more content may arrive: the run is live and the stream is neither `truncated` nor `failed`. */
  readonly isStreaming: boolean;
  readonly hasError: boolean;
  readonly errorMessage?: string;
  readonly metadata: MessageMetadata;
  /** Files attached to the user's message. */
  readonly attachments?: NonNullable<RunStartEvent["attachments"]>;

  readonly parts: readonly MessagePart[];
}

/** Another name for `MessageState`. */
export type MessageView = MessageState;

/** Request and times of a message. */
export interface MessageMetadata {
  readonly requestId: string;
  /** Unix time in milliseconds; 0 when the stream carries no times. */
  readonly startTime: number;
  readonly endTime?: number;
}

/** A piece of a message; `type` tells which kind. `MessagePart<"tool">` is a piece of that kind. */
export type MessagePart<Type extends AnyPart["type"] = AnyPart["type"]> = Extract<AnyPart, { readonly type: Type }>;

type AnyPart = TextPart | ThinkingPart | ToolPart | DataPart | ImagePart | TodoPart | ErrorPart | ReferencesPart;

interface PartBase {
  /** Unique within the message and stable. */
  readonly key: string;
  /** Key of the node run that produced the part. */
  readonly nodeKey?: string;
  /** The attempt of the run that repeats this part, because the process died before it was complete. */
  readonly supersededBy?: number;
}

/** Answer text. */
export interface TextPart extends PartBase {
  readonly type: "text";
  readonly text: string;
  /** `markdown` unless the sender specifies another format. */
  readonly format: string;
  readonly isComplete: boolean;
}

/** Reasoning or intermediate text that is not part of the answer. */
export interface ThinkingPart extends PartBase {
  readonly type: "thinking";
  readonly text: string;
  /** `reasoning` is the model's reasoning; `thought` is intermediate text of a search. */
  readonly channel: "reasoning" | "thought";
  readonly stage?: string;
  readonly isComplete: boolean;
  readonly startedAt?: number;
  readonly durationMs?: number;
}

/** A tool call. */
export interface ToolPart extends PartBase {
  readonly type: "tool";
  readonly call: ToolCall;
}

/** A table, chart or other structured data. */
export interface DataPart extends PartBase {
  readonly type: "data";
  readonly block: DataBlock;
}

/** An image. */
export interface ImagePart extends PartBase {
  readonly type: "image";
  readonly url: string;
  readonly mediaType?: string;
  readonly alt?: string;
}

/** Marks where a to-do list was created; its current content is in `SessionView.todoLists`. */
export interface TodoPart extends PartBase {
  readonly type: "todo";
  readonly listId: string;
}

/** An error reported during the run. */
export interface ErrorPart extends PartBase {
  readonly type: "error";
  readonly message: string;
  readonly code?: string;
  readonly stage?: string;
  /** Copied from the event. */
  readonly errorType?: "validation" | "execution" | "timeout" | "system";
  readonly recoverable?: boolean;
  readonly callId?: string;
  readonly details?: JsonObject;
}

/** Documents found by a retriever. */
export interface ReferencesPart extends PartBase {
  readonly type: "references";
  readonly query?: string;
  readonly docCount: number;
  readonly sources: readonly Reference[];
}

/** One retrieved document or passage. */
export interface Reference {
  readonly title: string;
  readonly uri?: string;
  readonly snippet?: string;
  readonly score?: number;
  /** Citation number used in the text, as in [1]. */
  readonly ref?: number;
  /** First line of the passage in the document, counted from 1. */
  readonly firstLine?: number;
  readonly lastLine?: number;
}

/**
 * State of a tool call:
 * - `streaming`: the model is writing the arguments
 * - `ready`: the arguments are complete
 * - `awaiting_approval`: the user has to decide
 * - `awaiting_client`: a client carries out the call; the run waits for its result
 * - `running`, `success`, `failed`: as in 003
 * - `rejected`: the call was rejected or its approval expired; it never ran
 * - `interrupted`: the run ended before the tool did
 */
export type ToolCallStatus =
  | "streaming"
  | "ready"
  | "awaiting_approval"
  | "awaiting_client"
  | "running"
  | "success"
  | "failed"
  | "rejected"
  | "interrupted";

/** A tool call from the first piece of its arguments to its result. */
export interface ToolCall {
  readonly toolId: string;
  readonly toolName: string;
  /** What the call will do. For a tool of an MCP server, these are words of that server. */
  readonly description?: string;
  /** What the call has done. */
  readonly summary?: string;
  /** Name of the MCP server that has the tool. */
  readonly server?: string;
  /** Arguments received so far; complete once the status is past `streaming`. */
  readonly arguments: JsonObject;
  /** Argument text as the model wrote it, as far as it was streamed. */
  readonly argumentsText: string;
  /** True when the arguments are not a JSON object; `argumentsText` has the original. */
  readonly argumentsInvalid: boolean;
  readonly status: ToolCallStatus;
  /** Percentage, 0 to 100. */
  readonly progress?: number;
  readonly progressMessage?: string;
  /** Output the tool has printed so far. */
  readonly output: string;
  readonly result?: ToolResult;
  readonly error?: { readonly message: string; readonly code?: string };
  readonly approval?: ApprovalView;
  readonly startedAt?: number;
  readonly durationMs?: number;
}

/**
 * Result of a tool call. `text` is what the model receives; `data` is the same result as JSON, if the tool provides it.
 */
export interface ToolResult {
  readonly text: string;
  readonly data?: Json;
}

/** An approval request for a tool call, and its decision. */
export interface ApprovalView {
  readonly decision: "pending" | "approved" | "rejected" | "expired";
  readonly arguments: JsonObject;
  readonly expiresAt?: number;
  /** Digest of the requested action. An approval that includes it applies to exactly this action. */
  readonly digest?: string;
  /** What the call would change, as a unified diff. */
  readonly preview?: string;
  readonly reason?: string;
  readonly actor?: string;
}

/** Structured data to display. */
export interface DataBlock {
  readonly dataType: "dataframe" | "chart" | "image" | "custom";
  readonly data: JsonObject;
  readonly metadata?: JsonObject;
}

/** A to-do list of the session. */
export interface TodoList {
  readonly listId: string;
  readonly title?: string;
  readonly items: readonly TodoItem[];
}

/** Feedback of a user about the answer of a run. */
export interface FeedbackView {
  readonly runId: string;
  readonly rating: "good" | "bad";
  readonly comment?: string;
  readonly actor?: string;
}

/** An item of a to-do list. */
export interface TodoItem {
  readonly id: string;
  readonly text: string;
  readonly completed: boolean;
}

/** One execution of a node, from node_enter to node_exit. Node runs can nest and overlap. */
export interface NodeRunView {
  /** Unique within the turn; `nodeId` alone may repeat. */
  readonly key: string;
  readonly nodeId?: string;
  readonly name: string;
  /**
   * Key of the enclosing node run: the parent named by the event, otherwise the innermost open one. Nodes of a thought
   * graph run side by side and are not nested in each other.
   */
  readonly parentKey?: string;
  readonly status: "running" | "ok" | "failed" | "interrupted";
  readonly error?: string;
  readonly startedAt?: number;
  readonly endedAt?: number;
  /** Updates the node wrote to the graph state. */
  readonly updates?: Json;
  /** Attempt of the run that this node run belongs to, from 2. */
  readonly attempt?: number;
  /** The attempt that runs this node again, because the process died before it ended. */
  readonly supersededBy?: number;
}

/** A tree-of-thoughts search. */
export interface TreeView {
  /** Thoughts in the order they were created. */
  readonly thoughts: readonly ThoughtView[];
  /** ID of the best thought of the last evaluation. */
  readonly chosen?: string;
  /** IDs from the root to the chosen thought, as far as the parents are known. */
  readonly path: readonly string[];
  readonly backtracks: readonly BacktrackView[];
}

/** A node of a tree-of-thoughts search. */
export interface ThoughtView {
  readonly id: string;
  readonly text: string;
  readonly parent?: string;
  readonly depth: number;
  readonly score?: number;
  /**
   * - `open`: not evaluated yet
   * - `kept`: evaluated and still explored
   * - `pruned`: evaluated and dropped
   * - `abandoned`: the search backtracked from it
   */
  readonly status: "open" | "kept" | "pruned" | "abandoned";
}

/** A backtracking step of a search. */
export interface BacktrackView {
  readonly reason: string;
  /** The reason as a code that a page can translate; see `tot_backtrack`. */
  readonly code?: string;
  readonly toDepth: number;
  readonly from?: string;
  readonly to?: string;
}

/** A graph of thoughts: its plan, progress and expansions. */
export interface GraphView {
  readonly nodes: readonly GraphNodeView[];
  readonly edges: readonly (readonly [from: string, to: string])[];
  readonly expansions: readonly GraphExpansion[];
}

/** A node of a graph of thoughts. */
export interface GraphNodeView {
  readonly id: string;
  readonly label?: string;
  /** Operation the node applies to the results of its dependencies. */
  readonly operation?: string;
  /** `skipped`: not started, because a dependency has no result. `interrupted`: the run ended before the node did. */
  readonly status: "planned" | "running" | "complete" | "failed" | "skipped" | "interrupted";
  readonly summary?: string;
  /** For a node that compares results: the score of each compared node. */
  readonly scores?: readonly { readonly id: string; readonly score: number }[];
  readonly error?: string;
  /** ID of the node inside which this one was planned: an expanded task, or a task with several drafts. */
  readonly expandedFrom?: string;
  readonly startedAt?: number;
  readonly endedAt?: number;
}

/** Nodes and edges added to the graph while it runs. */
export interface GraphExpansion {
  readonly nodeId: string;
  readonly nodesAdded: number;
  readonly edgesAdded: number;
  readonly nodes: readonly string[];
}

/** Token counts of a run. */
export interface UsageView {
  readonly promptTokens: number;
  readonly completionTokens: number;
  readonly totalTokens: number;
}

/** One request to a language model. */
export interface ModelCallView {
  readonly id: string;
  readonly model?: string;
  readonly attempt?: number;
  readonly status: "running" | "ok" | "failed" | "interrupted";
  readonly finishReason?: string;
  readonly error?: string;
  readonly startedAt?: number;
  readonly durationMs?: number;
}

/** A checkpoint of the graph state. The state itself is not part of the view. */
export interface CheckpointView {
  readonly id: string;
  readonly step: number | string;
  readonly ns: string;
  readonly timestamp: string | number;
}

/** A compression of the prompt before a model call. */
export interface CompressionView {
  readonly beforeTokens: number;
  readonly afterTokens: number;
  /** `summary`: the oldest turns were summarized. `drop`: they were removed. `cut`: tool results were shortened. */
  readonly method?: string;
}
