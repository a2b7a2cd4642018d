/** The contracts by which a log reports whether it can be written, how large its parts are, and how long calls take. */
import type { LoomError } from "../protocol/index.ts";

/** Reports whether a log can be written. */
export interface LogMonitor {
  /** What keeps changes from being stored, as far as known; undefined if nothing does. */
  readonly fault: LoomError | undefined;
  /** What works only in part although changes are stored, as far as known; undefined if nothing does. */
  readonly warning?: LoomError | undefined;
  /**
   * Writes and syncs a small change, at most once per second, and returns the fault. Also finds files that were deleted
   * or replaced, and a store that takes too long. Never rejects.
   */
  check(): Promise<LoomError | undefined>;
  /**
   * Calls `listener` whenever the fault or the warning changes, and checks every second for deleted files and, while there is a fault,
   * whether it is gone. `writer_failed` is final: the log has to be opened again. Returns a function that stops this.
   */
  watch(listener: (fault: LoomError | undefined, warning?: LoomError) => void): () => void;
  measure(): LogSizes;
}

/** Sizes of the parts of a log. */
export interface LogSizes {
  /** Changes that wait to be written, and their approximate size in bytes. */
  readonly queuedOperations: number;
  readonly queuedBytes: number;
  /** Commands that are stored and not executed, in all sessions; undefined if the store cannot be read. */
  readonly pendingCommands: number | undefined;
  /** Groups of changes that are being written. */
  readonly sentGroups: number;
  /** Restarts of the writer thread since the log was opened. */
  readonly restarts: number;
  /** Size of the write-ahead log in bytes. */
  readonly walBytes: number;
  /** Approximate size in bytes of the recent records in memory for readers. */
  readonly feedBytes: number;
}

/** Receives the duration of the calls to a log. */
export interface StoreMeter {
  /** `append` and `write` (all other changes) last until the change is durable, including the time in the queue. */
  recordStoreCall(kind: "append" | "write" | "read", elapsedMs: number): void;
}
