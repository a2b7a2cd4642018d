/**
 * What a tool call needs of the run it belongs to. An agent gives it; the tools know no run, no log and no engine.
 */
import type { JsonObject, LoomEvent } from "../protocol/index.ts";

/** Best one for all calls of a node run: they share its pace. */
export interface ToolHost {
  readonly sessionId: string;
  readonly runId: string;
  /** Aborted when the run ends, however. */
  readonly signal: AbortSignal;
  /**
   * Writes into the node run the call belongs to; throws or rejects when the event is refused or the run is over. Where
   * it gives a promise, that resolves when the event is durable: a tool begins when its start is.
   */
  emit(event: LoomEvent): void | PromiseLike<unknown>;
  /** Resolves when the log has room. */
  ready(): Promise<void>;
  /** Asks the user, or gives the answer that came before a restart. */
  requestApproval(request: ToolApprovalRequest): Promise<ToolApprovalAnswer>;
  /** What the log knows of the call, where the run goes on after its process died. */
  recall?(callId: string): RecalledCall | undefined;
  /** Told what a tool has thrown, whole; users see its message, and the id. */
  onError?(error: unknown, errorId: string): void;
  /** Keeps what no event can hold; absent where there is no place for it. */
  readonly saveBlob?: SaveBlob | undefined;
  readonly now?: () => number;
}

/** Gives where it is found, which is what an event may say instead. Throws `blob_too_large`, `blobs_full`. */
export type SaveBlob = (
  bytes: Uint8Array,
  options: {
    readonly mediaType: string;
    readonly name?: string | undefined;
    readonly signal?: AbortSignal | undefined;
  },
) => Promise<{ readonly blob_id: string; readonly url: string }>;

export interface RecalledCall {
  /** The arguments the user was asked about, if that was so. */
  readonly asked: JsonObject | undefined;
  readonly started: boolean;
}

export interface ToolApprovalRequest {
  readonly callId: string;
  readonly name: string;
  readonly arguments: JsonObject;
  readonly expiresInMs?: number;
}

export interface ToolApprovalAnswer {
  readonly decision: "approved" | "rejected" | "expired";
  /** Those to use: as the user edited them, or as they were asked about. */
  readonly arguments: JsonObject;
  readonly reason?: string;
}
