/**
 * The view: what a page, a terminal or a test sees of the sessions it receives. Types only.
 *
 * Invariants:
 * - Immutable, with structural sharing: an object under which nothing changed is the same object as before.
 * - Plain JSON apart from fields left out: no class, no function, no cycle. The same records give the same view, however
 *   they were cut into batches.
 * - The names of 003 §3 are kept as they are there; fields beyond them are ours.
 */
import type { AnyEvent, ErrorCode, Json, JsonObject, RunStartEvent } from "../protocol/index.ts";

export type StreamStatus = "live" | "gap" | "repairing" | "truncated" | "complete" | "failed";

export interface StreamReason {
  readonly code: ErrorCode;
  /** For people. */
  readonly message: string;
}

/** What nobody could notice in a stream of this kind. */
export type Blindness = "loss" | "double" | "order";

/** How far the receiver can vouch for what it shows. */
export interface StreamState {
  readonly status: StreamStatus;
  /** Why the status is neither `live` nor `complete`. */
  readonly reason?: StreamReason;
  /** Nothing of the runs shown can be missing, doubled or out of order: every frame had a number and was counted. */
  readonly verified: boolean;
  /** Empty when verified. */
  readonly cannotKnow: readonly Blindness[];
}

export interface ReceiverView {
  /** In the order they were first heard of. */
  readonly sessions: readonly SessionView[];
  /** Sessions that were there and had to make room. */
  readonly earlierSessions: number;
}

export interface SessionView {
  readonly id: string;
  readonly state: StreamState;
  /** In the order they began. */
  readonly turns: readonly TurnView[];
  /** Turns that were there and had to make room. */
  readonly earlierTurns: number;
  /** Every list of the session as it stands now, in the order they were made; parts refer to them by `listId`. */
  readonly todoLists: readonly TodoList[];
  /** Records of no run that nothing above shows. */
  readonly others: readonly AnyEvent[];
  /** The last frames that were refused or broke a rule, and how many there were in all. */
  readonly issues: readonly IssueView[];
  readonly issueCount: number;
}

export interface IssueView {
  /** Name of the rule, or an error code. */
  readonly rule: string;
  readonly message: string;
}

/** One run: what the user said and what came of it. */
export interface TurnView {
  /** Unique within the session and constant: the run's id, or a number where it has none or repeats one. */
  readonly key: string;
  readonly runId?: string;
  readonly requestId?: string;
  readonly agent?: string;
  readonly status: RunStatus;
  /** Why it did not complete. */
  readonly reason?: string;
  readonly code?: string;
  readonly startedAt?: number;
  readonly endedAt?: number;
  readonly durationMs?: number;
  /** Every frame of this run is here; see StreamState. */
  readonly verified: boolean;
  /** The run's beginning was never received. */
  readonly isPartial: boolean;
  /** The user's message, where there was one, then the assistant's. */
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
  /** Events nothing above shows: `custom`, `foreign` and types this version does not know. */
  readonly others: readonly AnyEvent[];
  /** Events left out of the view because a limit was reached. */
  readonly omitted: number;
}

export type RunStatus = "running" | "completed" | "error" | "cancelled";

/** 003 §3.1, and what we add. `parts` holds the same in the order it happened. */
export interface MessageState {
  readonly messageId: string;
  readonly role: "user" | "assistant";
  readonly thinkingContent: string;
  readonly mainContent: string;
  readonly toolCalls: readonly ToolCall[];
  readonly dataBlocks: readonly DataBlock[];
  /** More of it may come: its run is going, and the stream is neither `truncated` nor `failed`. */
  readonly isStreaming: boolean;
  readonly hasError: boolean;
  readonly errorMessage?: string;
  readonly metadata: MessageMetadata;
  /** Files that came with the user's message. */
  readonly attachments?: NonNullable<RunStartEvent["attachments"]>;

  readonly parts: readonly MessagePart[];
}

export type MessageView = MessageState;

export interface MessageMetadata {
  readonly requestId: string;
  /** Milliseconds since 1970; 0 where the stream tells no times. */
  readonly startTime: number;
  readonly endTime?: number;
}

export type MessagePart =
  | TextPart
  | ThinkingPart
  | ToolPart
  | DataPart
  | ImagePart
  | TodoPart
  | ErrorPart
  | ReferencesPart;

interface PartBase {
  /** Unique within the message and constant. */
  readonly key: string;
  /** The node run it came from. */
  readonly nodeKey?: string;
}

export interface TextPart extends PartBase {
  readonly type: "text";
  readonly text: string;
  /** markdown unless the sender says otherwise. */
  readonly format: string;
  readonly isComplete: boolean;
}

export interface ThinkingPart extends PartBase {
  readonly type: "thinking";
  readonly text: string;
  /** `thought` is inner text of a search, `reasoning` the model's own. */
  readonly channel: "reasoning" | "thought";
  readonly stage?: string;
  readonly isComplete: boolean;
  readonly startedAt?: number;
  readonly durationMs?: number;
}

export interface ToolPart extends PartBase {
  readonly type: "tool";
  readonly call: ToolCall;
}

export interface DataPart extends PartBase {
  readonly type: "data";
  readonly block: DataBlock;
}

export interface ImagePart extends PartBase {
  readonly type: "image";
  readonly url: string;
  readonly mediaType?: string;
  readonly alt?: string;
}

export interface TodoPart extends PartBase {
  readonly type: "todo";
  readonly listId: string;
}

export interface ErrorPart extends PartBase {
  readonly type: "error";
  readonly message: string;
  readonly code?: string;
  readonly stage?: string;
  /** As the event says it. */
  readonly errorType?: "validation" | "execution" | "timeout" | "system";
  readonly recoverable?: boolean;
  readonly callId?: string;
  readonly details?: JsonObject;
}

export interface ReferencesPart extends PartBase {
  readonly type: "references";
  readonly query?: string;
  readonly docCount: number;
  readonly sources: readonly Reference[];
}

export interface Reference {
  readonly title: string;
  readonly uri?: string;
  readonly snippet?: string;
  readonly score?: number;
  /** The answer refers to it by this number, as in [1]. */
  readonly ref?: number;
  /** Lines of the document, from 1. */
  readonly firstLine?: number;
  readonly lastLine?: number;
}

/**
 * streaming: the model writes its arguments; ready: they are whole; awaiting_approval: the user is asked; running,
 * success, failed as in 003; rejected: refused or expired, it never ran; interrupted: the run ended before the tool did.
 */
export type ToolCallStatus =
  | "streaming"
  | "ready"
  | "awaiting_approval"
  | "running"
  | "success"
  | "failed"
  | "rejected"
  | "interrupted";

export interface ToolCall {
  readonly toolId: string;
  readonly toolName: string;
  readonly description?: string;
  /** What is known of the arguments so far; whole once the status is past `streaming`. */
  readonly arguments: JsonObject;
  /** The text as the model wrote it, as far as it was streamed. */
  readonly argumentsText: string;
  /** The arguments are no JSON object; the text says what they are. */
  readonly argumentsInvalid: boolean;
  readonly status: ToolCallStatus;
  /** 0 to 100. */
  readonly progress?: number;
  readonly progressMessage?: string;
  /** What the tool printed so far. */
  readonly output: string;
  readonly result?: ToolResult;
  readonly error?: { readonly message: string; readonly code?: string };
  readonly approval?: ApprovalView;
  readonly startedAt?: number;
  readonly durationMs?: number;
}

/** `text` is what the model was told, `data` the same as JSON where the tool gave it. */
export interface ToolResult {
  readonly text: string;
  readonly data?: Json;
}

export interface ApprovalView {
  readonly decision: "pending" | "approved" | "rejected" | "expired";
  readonly arguments: JsonObject;
  readonly expiresAt?: number;
  /** Of what is asked: an answer that names it agrees to this and nothing else. */
  readonly digest?: string;
  readonly reason?: string;
  readonly actor?: string;
}

export interface DataBlock {
  readonly dataType: "dataframe" | "chart" | "image" | "custom";
  readonly data: JsonObject;
  readonly metadata?: JsonObject;
}

export interface TodoList {
  readonly listId: string;
  readonly title?: string;
  readonly items: readonly TodoItem[];
}

export interface TodoItem {
  readonly id: string;
  readonly text: string;
  readonly completed: boolean;
}

/** From node_enter to node_exit. Spans nest and run side by side. */
export interface NodeRunView {
  /** Unique within the turn: node_id alone may repeat. */
  readonly key: string;
  readonly nodeId?: string;
  readonly name: string;
  /**
   * The node run it was entered in: the one it names, or else the innermost that is open. Nodes of a graph run side by
   * side, not in each other.
   */
  readonly parentKey?: string;
  readonly status: "running" | "ok" | "failed" | "interrupted";
  readonly error?: string;
  readonly startedAt?: number;
  readonly endedAt?: number;
  /** What it wrote into the graph state. */
  readonly updates?: Json;
}

export interface TreeView {
  /** In the order they were thought of. */
  readonly thoughts: readonly ThoughtView[];
  /** The best thought of the last evaluation. */
  readonly chosen?: string;
  /** The thoughts from the root to the chosen one, as far as their parents are known. */
  readonly path: readonly string[];
  readonly backtracks: readonly BacktrackView[];
}

export interface ThoughtView {
  readonly id: string;
  readonly text: string;
  readonly parent?: string;
  readonly depth: number;
  readonly score?: number;
  /** open: not judged; kept: still searched; pruned: judged and left; abandoned: the search came back from it. */
  readonly status: "open" | "kept" | "pruned" | "abandoned";
}

export interface BacktrackView {
  readonly reason: string;
  readonly toDepth: number;
  readonly from?: string;
  readonly to?: string;
}

export interface GraphView {
  readonly nodes: readonly GraphNodeView[];
  readonly edges: readonly (readonly [from: string, to: string])[];
  readonly expansions: readonly GraphExpansion[];
}

export interface GraphNodeView {
  readonly id: string;
  readonly label?: string;
  /** What it does with the results it needs. */
  readonly operation?: string;
  /** skipped: it was not begun, because one it needs has no result; interrupted: the run ended before it did. */
  readonly status: "planned" | "running" | "complete" | "failed" | "skipped" | "interrupted";
  readonly summary?: string;
  /** Of one that has compared results: by the node they are of. */
  readonly scores?: readonly { readonly id: string; readonly score: number }[];
  readonly error?: string;
  /** The node whose expansion added it. */
  readonly expandedFrom?: string;
  readonly startedAt?: number;
  readonly endedAt?: number;
}

export interface GraphExpansion {
  readonly nodeId: string;
  readonly nodesAdded: number;
  readonly edgesAdded: number;
  readonly nodes: readonly string[];
}

export interface UsageView {
  readonly promptTokens: number;
  readonly completionTokens: number;
  readonly totalTokens: number;
}

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

export interface CheckpointView {
  readonly id: string;
  readonly step: number;
  readonly ns: string;
  readonly timestamp: string;
}

export interface CompressionView {
  readonly beforeTokens: number;
  readonly afterTokens: number;
  /** `summary`: the oldest turns were summarised; `drop`: they were left out; `cut`: results of tools were cut. */
  readonly method?: string;
}
