/** The log: stores sessions as append-only records, and reads them as records, as frames or as files. */
export { type Checkpoint, type CheckpointInfo, listCheckpoints, readCheckpoint } from "./checkpoints.ts";
export { followRecords, type FollowOptions } from "./follow-records.ts";
export { forkBeforeRun, type ForkBeforeRunOptions } from "./fork-before-run.ts";
export { forkSession, type ForkedSession, type ForkOptions } from "./fork-session.ts";
export type {
  Command,
  CommandOutcome,
  CommandState,
  ForkOrigin,
  FoundSession,
  ListBranchesOptions,
  PagingOptions,
  Log,
  LogEntry,
  ReadOptions,
  RunInfo,
  RunStatus,
  SearchSessionsOptions,
  SessionChanges,
  SessionInfo,
  UpdateSessionOptions,
} from "./log.ts";
export { LOG_LIMITS, type LogLimits } from "./log-limits.ts";
export type { SearchMatch } from "./search-text.ts";
export type { PruneReport, RetentionPolicy } from "./retention-policy.ts";
export type { LogMonitor, LogSizes, StoreMeter } from "./log-monitor.ts";
export { MemoryLog, type MemoryLogOptions } from "./memory-log.ts";
export type { Page } from "./page.ts";
export { openPostgresLog, openSqliteLog } from "./open-log.ts";
export type { PostgresLog } from "./postgres/postgres-log.ts";
export type { SqliteLog } from "./sqlite/sqlite-log.ts";
export type { PostgresLogOptions, SqliteLogOptions } from "./store-options.ts";
export { openStream, type StreamFrame, type StreamOptions } from "./stream.ts";
export { exportSession, importSession, type ImportSessionOptions } from "./transfer.ts";
