/**
 * What a run is asked for and answers with, and what it needs of its session.
 */
import type { LogEntry, RunStatus, Settlement } from "../log/log.ts";
import type { ErrorEvent, JsonObject, RunEndEvent, RunStartEvent, ToolRules } from "../protocol/index.ts";
import type { Draft, Pushed, PushOptions, Sequencer } from "./sequencer.ts";

export interface RunHost {
  readonly sessionId: string;
  readonly sequencer: Sequencer;
  push(drafts: readonly Draft[], options?: PushOptions): Pushed;
  readonly now: () => number;
  /** Characters of a name or id within an event. */
  readonly maxNameLength: number;
  /** An event was refused, the run goes on without it, and perhaps nobody looks at the promise. */
  onRefused(error: unknown): void;
  /** Tells the program of an error that is not to be shown, and gives the id under which it did. */
  report(error: unknown): string;
  /** See `Session.onCommit`. */
  onCommit(listener: (entries: readonly LogEntry[]) => void): () => void;
  /** The run wrote its last record. */
  onEnd(run: { readonly runId: string }): void;
}

export interface RunOrigin {
  readonly runId: string;
  readonly requestId?: string | undefined;
  readonly message?: string | undefined;
  readonly agent?: string | undefined;
  readonly source?: RunStartEvent["source"] | undefined;
  /** The caller's own, for whoever observes the run: kept in the log. */
  readonly context?: JsonObject | undefined;
  /** Files that came with the message, by reference. */
  readonly attachments?: RunStartEvent["attachments"] | undefined;
  /** Who asked for it; never a secret. */
  readonly actor?: string | undefined;
  /** What it may do with tools, whoever carries it out and whenever. */
  readonly toolRules?: ToolRules | undefined;
}

export interface EmitOptions {
  /** The node run it belongs to, which must be open. */
  readonly nodeId?: string | undefined;
}

export type RunFailure = Omit<ErrorEvent, "type">;

export interface RunEnd {
  readonly status: Exclude<RunStatus, "live">;
  readonly code?: string;
  readonly reason?: string;
  readonly lastEventId: number;
}

export interface FinishOptions {
  /** The whole answer; the text of the node run that answered last when absent. */
  readonly reply?: string | undefined;
  /** The node run that made the reply. */
  readonly nodeId?: string | undefined;
  /** Added to the totals the run has counted, or in their place. */
  readonly summary?: RunEndEvent["summary"] | undefined;
}

export interface ApprovalRequest {
  readonly callId: string;
  readonly name: string;
  readonly arguments: JsonObject;
  /** One hour when absent. */
  readonly expiresInMs?: number;
}

export interface ApprovalReply {
  readonly callId: string;
  readonly decision: "approved" | "rejected";
  readonly name?: string | undefined;
  /** Of the question that is answered: it must be the one that stands. */
  readonly digest?: string | undefined;
  readonly arguments?: JsonObject | undefined;
  readonly reason?: string | undefined;
  readonly actor?: string | undefined;
  /** What whoever answers may do with tools: nobody agrees to what is denied to them. */
  readonly toolRules?: ToolRules | undefined;
}

export interface FailOptions {
  /** Its error record was written already. */
  readonly recorded?: boolean;
  readonly summary?: RunEndEvent["summary"] | undefined;
}

export interface CancelOptions {
  readonly summary?: RunEndEvent["summary"] | undefined;
  readonly settle?: Settle | undefined;
}

export interface CloseCallsOptions {
  /** Words for the calls' results. */
  readonly reason?: string;
  readonly code?: "cancelled" | "interrupted";
}

/** The command a record answers, made when the record's id is known. */
export type Settle = (eventId: number) => Settlement;

export type RunEndFields = Omit<RunEndEvent, "type">;
