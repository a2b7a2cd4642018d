/**
 * What a session can be told, and what it does when it is told nothing.
 */
import { LOG_LIMITS, type LogEntry } from "../log/log.ts";
import type { LoomError } from "../protocol/index.ts";
import { MAX_EVENT_NAME_LENGTH } from "./check-event.ts";
import type { RecoveryOptions } from "./recovery.ts";
import type { Run } from "./run.ts";
import type { RunOrigin } from "./run-contract.ts";

export interface RunRequest extends Partial<RunOrigin> {
  /**
   * When another run is live: wait for its turn (`enqueue`, the default; durable, in order), fail with `run_live`
   * (`reject`), or cancel the live one first (`interrupt`).
   */
  readonly whenBusy?: "enqueue" | "reject" | "interrupt";
}

export interface SessionOptions extends RecoveryOptions {
  /** Who writes; see `describeHolder`. */
  readonly holder?: string;
  /** How long the lease lasts without being renewed; it is renewed three times as often. */
  readonly ttlMs?: number;
  /** Take the session even from a living writer. */
  readonly takeover?: boolean;
  /** Milliseconds since 1970. */
  readonly now?: () => number;
  /** Bytes of a session that are not durable yet; code `backlog_full`. */
  readonly maxBacklogBytes?: number;
  /** Messages that wait for their turn; code `queue_full`. */
  readonly maxQueuedRuns?: number;
  /** Cancels that wait for a run nobody has heard of; code `unknown_run`. */
  readonly maxCancelsAhead?: number;
  /** Characters of a name or id within an event; code `invalid_event`. */
  readonly maxNameLength?: number;
  /** Characters of an answer that are kept for the reply: by default what an event may hold. Code `event_too_large`. */
  readonly maxReplyCharacters?: number;
  /** How long a cancel waits for a run nobody has heard of; code `unknown_run`. */
  readonly cancelAheadMs?: number;
  /** The first pause before a failed log is tried again; each is twice the one before. */
  readonly repairMs?: number;
  /** Pauses between two looks into the inbox while records are being written. */
  readonly inboxMs?: number;
  /** Told what has become durable, in order, from the first record on: also of what is put right while it opens. */
  readonly onCommit?: (entries: readonly LogEntry[]) => void;
  /** Told once that this process writes the session no more, or could not open it. */
  readonly onEnd?: (sessionId: string) => void;
  /** Told, now and then, that the session has no live run and no command that waits: a good time to let go of it. */
  readonly onIdle?: (sessionId: string) => void;
  /** Carries out messages that were enqueued, by whomever. Without it they wait for a session that has one. */
  readonly onRun?: (run: Run, request: RunOrigin) => Promise<void>;
  /** The agent's name in runs of messages that name none. */
  readonly agent?: string;
  /**
   * What becomes of a dead run that somebody else could resume: it ends (the default), or is left live for a session that
   * has `resume`, as those need it who open the session only to carry out a command.
   */
  readonly deadRuns?: "end" | "leave";
  /**
   * Told of what was thrown and must not be shown to users; the error record has the same id in its details. Also of
   * events that were refused while their run went on, and of what listeners throw.
   */
  readonly onError?: (error: unknown, errorId: string) => void;
}

export interface SessionEnd {
  readonly reason: "closed" | "fenced";
  readonly error?: LoomError;
}

export interface CloseOptions {
  /**
   * What becomes of a live run: it ends as `interrupted`, or is left as it is for whoever opens the session next. A run
   * that waits for the user is always left.
   */
  readonly run?: "interrupt" | "leave";
}

export const SESSION_DEFAULTS = {
  ttlMs: 10_000,
  maxQueuedRuns: 100,
  maxCancelsAhead: 100,
  maxNameLength: MAX_EVENT_NAME_LENGTH,
  // A longer answer could not be written as one event, unless the log's limit is raised too.
  maxReplyCharacters: LOG_LIMITS.maxEventBytes,
  cancelAheadMs: 10 * 60 * 1000,
  repairMs: 100,
  inboxMs: 50,
};
