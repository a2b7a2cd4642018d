/**
 * The interface between a tool call and the run it belongs to. Agents implement it, so that tools do not depend on
 * runs, the log or the engine.
 */
import type { ToolEndEvent } from "../protocol/events.generated.ts";
import type { Language } from "../protocol/detect-language.ts";
import type { JsonObject, LoomEvent } from "../protocol/index.ts";

/**
 * Services of a run for its tool calls. Use one host for all calls of a node run, because they share its write budget.
 */
export interface ToolHost {
  readonly sessionId: string;
  readonly runId: string;
  /** Aborts when the run ends. */
  readonly signal: AbortSignal;
  /**
   * Writes an event to the node run of the call. Throws or rejects if the event is rejected or the run is over. A
   * returned promise resolves when the event is durable; a tool starts after its `tool_start` is durable.
   */
  emit(event: LoomEvent): void | PromiseLike<unknown>;
  /** Resolves when the log has room. */
  ready(): Promise<void>;
  /**
   * Asks the user for approval, or returns the answer given before a restart. Rejects with `approval_unavailable` if the
   * user cannot be asked; the call then ends with that code.
   */
  requestApproval(request: ToolApprovalRequest): Promise<ToolApprovalAnswer>;
  /**
   * Hands a call to the client and resolves to its end, which the host has written. Rejects with `client_unavailable` if
   * the client cannot carry it out; the call then ends with that code. Absent if there is no client.
   */
  callClient?(request: ToolClientRequest): Promise<ToolEndEvent>;
  /** Returns what the log knows about a call of a run that resumes after its process died. */
  recall?(callId: string): RecalledCall | undefined;
  /**
   * Whether the messages of unexpected exceptions are shown to the model and to users. If not, they receive the name of
   * the tool, a code and the ID. Default: true.
   */
  readonly exposeErrors?: boolean | undefined;
  /** Receives each error thrown by a tool, with the ID that users see. */
  onError?(error: unknown, errorId: string): void;
  /** Language in which users see summaries of results. Default: `en`. */
  readonly language?: Language | undefined;
  /** Saves data that is too large for an event. Absent if there is no blob store. */
  readonly saveBlob?: SaveBlob | undefined;
  /** Clock for durations, in milliseconds. Default: `Date.now`. */
  readonly now?: () => number;
}

/** Saves a blob and returns its URL for use in events. Throws `blob_too_large` or `blobs_full`. */
export type SaveBlob = (
  bytes: Uint8Array,
  options: {
    readonly mediaType: string;
    readonly name?: string | undefined;
    readonly signal?: AbortSignal | undefined;
  },
) => Promise<{ readonly blob_id: string; readonly url: string }>;

/** State of a call before a restart. */
export interface RecalledCall {
  /** The arguments shown to the user, if approval was requested. */
  readonly approvalArguments: JsonObject | undefined;
  /** Whether `tool_start` was written. */
  readonly started: boolean;
}

/** Asks the user to approve a tool call. */
export interface ToolApprovalRequest {
  readonly callId: string;
  readonly name: string;
  readonly arguments: JsonObject;
  /** What the call would change, as a unified diff. */
  readonly preview?: string;
  /** Name of the MCP server that has the tool. */
  readonly server?: string;
  /** Milliseconds until the request expires. Default: decided by the host. */
  readonly expiresInMs?: number;
}

/** Asks the client to carry out a tool call. */
export interface ToolClientRequest {
  readonly callId: string;
  readonly name: string;
  /** Milliseconds until the call ends as `tool_timeout`. Default: decided by the host. */
  readonly expiresInMs?: number;
}

/** Answer to a `ToolApprovalRequest`. */
export interface ToolApprovalAnswer {
  readonly decision: "approved" | "rejected" | "expired";
  /** The arguments to use: as edited by the user, or as requested. */
  readonly arguments: JsonObject;
  /** Reason given by the user, passed on to the model. */
  readonly reason?: string;
  /** Set if no user decided: why the call is rejected, `approval_failed` or `approval_unavailable`. */
  readonly code?: string;
}
