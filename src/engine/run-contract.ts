/** The options and results of a run, and what it needs from its session. */
import type { LogEntry, RunStatus, Settlement } from "../log/log.ts";
import type { Json, JsonObject, ToolRules } from "../protocol/index.ts";
import type { ErrorEvent, RunEndEvent } from "../protocol/events.generated.ts";
import type { EventDraft, PushResult, PushOptions, Sequencer } from "./sequencer.ts";

/** The part of a session that its runs use. */
export interface RunHost {
  readonly sessionId: string;
  readonly sequencer: Sequencer;
  push(drafts: readonly EventDraft[], options?: PushOptions): PushResult;
  readonly now: () => number;
  /** An event was rejected and the run continues; its promise may be ignored. */
  onRejected(error: unknown): void;
  /** Reports an error that users must not see, and returns the ID of the report. */
  report(error: unknown): string;
  /** See `Session.onCommit`. */
  onCommit(listener: (entries: readonly LogEntry[]) => void): () => void;
  /** True if a user allowed all calls of the tool in the session. */
  isAllowed(tool: string): boolean;
  /** The run wrote its last record. */
  onEnd(run: { readonly runId: string }): void;
}

/** Options of `Run.emit` and `Run.post`. */
export interface EmitOptions {
  /** ID of the node run the event belongs to, which must be open. Default: the event belongs to no node run. */
  readonly nodeId?: string | undefined;
}

/** Why a run failed: the fields of its error event. */
export type RunFailure = Omit<ErrorEvent, "type">;

/** How a run ended. */
export interface RunEnd {
  readonly status: Exclude<RunStatus, "live">;
  readonly code?: string;
  readonly reason?: string;
  readonly lastEventId: number;
}

/** Options of the methods that end a run. */
interface EndOptions {
  /** Fields that replace or extend the counted totals. */
  readonly summary?: RunEndEvent["summary"] | undefined;
}

/** Options of `Run.finish`. */
export interface FinishOptions extends EndOptions {
  /** The full answer. Default: the text of the node run that answered last. */
  readonly reply?: string | undefined;
  /** ID of the node run that made the reply. Default: the one that answered last. */
  readonly nodeId?: string | undefined;
}

/** A request to the user to approve a tool call. */
export interface ApprovalRequest {
  /** ID of the call, unique within the run. */
  readonly callId: string;
  /** Name of the tool. */
  readonly name: string;
  /** Arguments to approve. */
  readonly arguments: JsonObject;
  /** What the call would change, as a unified diff. */
  readonly preview?: string;
  /** Name of the MCP server that has the tool. */
  readonly server?: string;
  /** Milliseconds until the approval expires. Default: one hour. */
  readonly expiresInMs?: number;
}

/** The answer of a user to an approval request. */
export interface ApprovalReply {
  readonly callId: string;
  readonly decision: "approved" | "rejected";
  /** Tool name; it must match the request. Not checked when absent. */
  readonly name?: string | undefined;
  /** Digest of the approval request; it must match the open one. */
  readonly digest?: string | undefined;
  /** Arguments edited by the user, which replace those of the request. */
  readonly arguments?: JsonObject | undefined;
  readonly reason?: string | undefined;
  readonly actor?: string | undefined;
  /** Set if no user decided: why the call is rejected. */
  readonly code?: "approval_failed" | "approval_unavailable" | undefined;
  /** Tool rules of the caller that answers. A caller cannot approve a tool it may not use. */
  readonly toolRules?: ToolRules | undefined;
}

/** A tool call that the client is to carry out. */
export interface ClientCallRequest {
  /** ID of the call, unique within the run. */
  readonly callId: string;
  /** Name of the tool. */
  readonly name: string;
  /** Milliseconds until the call ends as `tool_timeout`. Default: one hour. */
  readonly expiresInMs?: number;
}

/** The result of a tool call that the client carried out. */
export interface ClientCallReply {
  readonly callId: string;
  /** A text or any JSON value, for the model. Default: a text that says that there is none. */
  readonly output?: Json | undefined;
  /** True if the client could not carry out the call. Default: false. */
  readonly isError?: boolean | undefined;
  readonly actor?: string | undefined;
  /** Set if no client answered: why the call ends. */
  readonly code?: "client_unavailable" | "tool_timeout" | undefined;
  /** Tool rules of the caller that answers. A caller cannot answer for a tool it may not use. */
  readonly toolRules?: ToolRules | undefined;
}

/** Options of `Run.fail`. */
export interface FailOptions extends EndOptions {
  /** True if the error record was already written. Default: false. */
  readonly recorded?: boolean;
}

/** Options of `Run.cancel`. */
export interface CancelOptions extends EndOptions {
  /** Settles the command that requested the cancel. @internal */
  readonly settle?: Settle | undefined;
}

/** Options of `Run.closeCalls`. */
export interface CloseCallsOptions {
  /** Text for the results of the calls. Default: "not executed". */
  readonly reason?: string;
  /** Error code of the results. Default: `interrupted`. */
  readonly code?: "cancelled" | "interrupted";
  /** Node run that ends the calls whose own node run has ended. Default: none. */
  readonly nodeId?: string;
}

/** Creates the settlement of a command, once the ID of its record is known. */
export type Settle = (eventId: number) => Settlement;

export type RunEndFields = Omit<RunEndEvent, "type">;
