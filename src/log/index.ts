/** The log: stores sessions as append-only records, and reads them as records, as frames or as files. */
export { type Checkpoint, listCheckpoints, readCheckpoint } from "./checkpoints.ts";
export { followRecords } from "./follow-records.ts";
export { forkBeforeRun } from "./fork-before-run.ts";
export { forkSession } from "./fork-session.ts";
export type { Command, CommandState, Log, RunInfo, SessionInfo } from "./log.ts";
export type { RetentionPolicy } from "./retention-policy.ts";
export { MemoryLog } from "./memory-log.ts";
export type { Page } from "./page.ts";
export { openPostgresLog, openSqliteLog } from "./open-log.ts";
export type { PostgresLog } from "./postgres/postgres-log.ts";
export type { SqliteLog } from "./sqlite/sqlite-log.ts";
export type { PostgresLogOptions, SqliteLogOptions } from "./store-options.ts";
export { openStream, type StreamFrame, type StreamOptions } from "./stream.ts";
export { exportSession, importSession } from "./transfer.ts";
