/** The log: stores sessions as append-only records, and reads them as records, as frames or as files. */
export { type Checkpoint, type CheckpointInfo, listCheckpoints, readCheckpoint } from "./checkpoints.ts";
export {
  createCursorFormat,
  type Cursor,
  ENCODER_VERSION,
  formatCursor,
  MAX_CURSOR_LENGTH,
  parseCursor,
} from "./cursor.ts";
export { createEntry } from "./entry.ts";
export { followRecords, type FollowOptions, RECHECK_MS } from "./follow-records.ts";
export { forkBeforeRun, type ForkBeforeRunOptions } from "./fork-before-run.ts";
export { forkSession, type ForkedSession, type ForkOptions } from "./fork-session.ts";
export { describeHolder } from "./holder.ts";
export {
  type AcquiredLease,
  type AcquireOptions,
  type Append,
  type Command,
  type CommandKind,
  type CommandOutcome,
  type CommandState,
  type CreateOptions,
  type FoundSession,
  type Landmark,
  type LandmarkKind,
  type Lease,
  type PagingOptions,
  type Log,
  LOG_LIMITS,
  type LogEntry,
  type LogLimits,
  MAX_NAME_LENGTH,
  type PruneReport,
  type ReadOptions,
  type RetentionPolicy,
  type RunInfo,
  type RunStatus,
  type SearchMatch,
  type SearchSessionsOptions,
  type SessionInfo,
  type Settlement,
  type SubmitOptions,
} from "./log.ts";
export { MemoryLog, type MemoryLogOptions } from "./memory-log.ts";
export { Page } from "./page.ts";
export { LOCAL_OWNER, MAX_OWNER_LENGTH } from "./rules.ts";
export { openSqliteLog, type SqliteLog, type SqliteLogOptions } from "./sqlite/sqlite-log.ts";
export {
  openStreamSteps,
  openStream,
  type StreamFrame,
  type StreamOptions,
  type StreamStartInfo,
  type StreamStep,
} from "./stream.ts";
export { exportSession, importSession, type ImportSessionOptions } from "./transfer.ts";
