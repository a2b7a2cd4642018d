/** Limits of a log: sizes, counts and memory. */

/** Limits of a log; defaults in `LOG_LIMITS`. */
export interface LogLimits {
  /** Maximum size of a stored record in bytes. Larger ones throw `event_too_large`. */
  readonly maxEventBytes: number;
  /** Maximum number of records in an append. More throw `batch_too_large`. */
  readonly maxBatchRecords: number;
  /** Maximum size of an append in bytes. Larger ones throw `batch_too_large`. */
  readonly maxBatchBytes: number;
  /** Maximum size in bytes of the records a session is created with, as in a fork. More throw `batch_too_large`. */
  readonly maxForkBytes: number;
  /** Maximum number of records returned by one read. */
  readonly maxPageRecords: number;
  /** Maximum size of one read in bytes, unless a single record is larger. */
  readonly maxPageBytes: number;
  /**
   * Maximum number of pending commands of a session. More throw `inbox_full`. Messages can take up to half of it
   * (`queue_full`), so that cancels and approvals can still be sent.
   */
  readonly maxPendingCommands: number;
  /** Maximum size of a command's body in bytes. Larger ones throw `invalid_command`. */
  readonly maxCommandBytes: number;
  /** Memory in bytes for recent records of a session that is being followed, unless a single page is larger. */
  readonly maxFeedBytes: number;
  /** Minimum number of records between two encoder snapshots of a stream. */
  readonly snapshotRecords: number;
  /** Maximum size of an encoder snapshot in bytes. Larger states are not stored. */
  readonly maxSnapshotBytes: number;
  /** Maximum size of all encoder snapshots of a session in bytes. Beyond it the oldest are deleted. */
  readonly maxSessionSnapshotBytes: number;
  /**
   * Memory in bytes for recent records of all sessions that are being followed. Beyond it, those of the sessions written
   * longest ago are dropped, and their readers read the store.
   */
  readonly maxTotalFeedBytes: number;
  /** Maximum number of sessions of an owner. More throw `quota_exceeded`. */
  readonly maxOwnerSessions: number;
  /**
   * Maximum size in bytes of all records of an owner. Beyond it, new messages, forks and imports throw `quota_exceeded`,
   * and a live run ends with that code; its last records always fit.
   */
  readonly maxOwnerBytes: number;
  /** Maximum number of blobs of an owner. More throw `quota_exceeded`. */
  readonly maxOwnerBlobs: number;
  /** Maximum size in bytes of all blobs of an owner. More throw `quota_exceeded`. */
  readonly maxOwnerBlobBytes: number;
}

/** Default limits. */
export const LOG_LIMITS: LogLimits = {
  maxEventBytes: 1024 * 1024,
  maxBatchRecords: 10_000,
  maxBatchBytes: 8 * 1024 * 1024,
  maxForkBytes: 64 * 1024 * 1024,
  maxPageRecords: 1000,
  maxPageBytes: 1024 * 1024,
  maxPendingCommands: 1000,
  maxCommandBytes: 64 * 1024,
  maxFeedBytes: 1024 * 1024,
  snapshotRecords: 1000,
  maxSnapshotBytes: 1024 * 1024,
  maxSessionSnapshotBytes: 32 * 1024 * 1024,
  maxTotalFeedBytes: 128 * 1024 * 1024,
  maxOwnerSessions: Infinity,
  maxOwnerBytes: Infinity,
  maxOwnerBlobs: Infinity,
  maxOwnerBlobBytes: Infinity,
};

/** How many runs a principal may have at once. */
export interface RunLimit {
  /** The principal: `actor` in the body of a message, and in `run_start`. */
  readonly actor: string;
  /** Maximum number of its live runs and pending messages, in all sessions. */
  readonly maxRuns: number;
}
