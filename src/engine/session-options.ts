/** Options of sessions and their defaults. */
import { type LogEntry, MAX_QUEUED_MESSAGES } from "../log/log.ts";
import type { LoomError } from "../protocol/index.ts";
import type { RecoveryOptions } from "./recovery.ts";
import type { Run } from "./run.ts";
import type { RunOrigin } from "./run-origin.ts";

/** What to start a run with. `runId` defaults to a random ID. */
export interface RunRequest extends Partial<RunOrigin> {
  /**
   * What to do while another run is live: wait in the durable queue (`enqueue`, the default), throw `run_live`
   * (`reject`), or cancel the live run (`interrupt`).
   */
  readonly whenBusy?: "enqueue" | "reject" | "interrupt";
}

/** Options of `openSession`. */
export interface SessionOptions extends RecoveryOptions {
  /** Name of the writer in the lease. Default: `describeHolder()`. */
  readonly holder?: string;
  /** Milliseconds until the lease expires without renewal. It is renewed three times in that period. Default: 10,000. */
  readonly ttlMs?: number;
  /** Take the lease even from a live writer. Default: false. */
  readonly takeover?: boolean;
  /** Create the session if it does not exist. If false, `openSession` throws `unknown_session`. Default: true. */
  readonly create?: boolean;
  /** Clock, in milliseconds since 1970. Default: `Date.now`. */
  readonly now?: () => number;
  /** Maximum bytes that are not yet durable; code `backlog_full`. Default: 1 MiB. */
  readonly maxBacklogBytes?: number;
  /**
   * Maximum messages that wait in the session, of all processes, when `startRun` adds one; code `queue_full`. Messages
   * that are already stored are always executed. Default: 100.
   */
  readonly maxQueuedRuns?: number;
  /** Maximum cancels that wait for their run to start; code `unknown_run`. Default: 100. */
  readonly maxEarlyCancels?: number;
  /** Milliseconds that a cancel waits for its run to start; code `unknown_run`. Default: 600,000. */
  readonly earlyCancelMs?: number;
  /**
   * Milliseconds before the first retry after a log failure. Each further pause is twice as long, up to 10 s. Default:
   * 100.
   */
  readonly repairMs?: number;
  /** Milliseconds between two checks for commands while records are being written. Default: 50. */
  readonly inboxMs?: number;
  /**
   * Called with entries that became durable, in order, starting with the first record. Includes records written during
   * recovery.
   */
  readonly onCommit?: (entries: readonly LogEntry[]) => void;
  /** Called once when this process no longer writes the session, or could not open it. */
  readonly onEnd?: (sessionId: string) => void;
  /** Called when the session has no live run and no pending command, possibly repeatedly. A good time to close it. */
  readonly onIdle?: (sessionId: string) => void;
  /** Executes queued messages. Without it, they wait for a session that has it. */
  readonly onRun?: (run: Run) => Promise<void>;
  /**
   * Whether `onRun` executes messages for the agent of this name. Otherwise such a message, and those after it, wait for
   * another process. Default: every agent.
   */
  readonly acceptsAgent?: (name: string) => boolean;
  /** Name of the agent for messages that do not name one. Default: none. */
  readonly agent?: string;
  /**
   * What to do with a dead run that another process could resume: end it (`end`, the default), or leave it live
   * (`leave`). Use `leave` to open a session only to execute a command.
   */
  readonly deadRuns?: "end" | "leave";
  /**
   * Called with errors that users must not see: errors of agents and listeners, and rejected events of runs that
   * continue. The error record has the same `errorId` in its details.
   */
  readonly onError?: (error: unknown, errorId: string) => void;
}

/** Why this process no longer writes a session. `fenced`: another process took it over, or it was deleted. */
export interface SessionEnd {
  readonly reason: "closed" | "fenced";
  readonly error?: LoomError;
}

/** Options of `Session.close`. */
export interface CloseOptions {
  /**
   * What to do with the live run: end it as interrupted (`interrupt`, the default), or leave it for the next holder
   * (`leave`). A run that waits for an approval is always left.
   */
  readonly run?: "interrupt" | "leave";
}

export const SESSION_DEFAULTS = {
  ttlMs: 10_000,
  maxQueuedRuns: MAX_QUEUED_MESSAGES,
  maxEarlyCancels: 100,
  earlyCancelMs: 10 * 60 * 1000,
  repairMs: 100,
  inboxMs: 50,
};
