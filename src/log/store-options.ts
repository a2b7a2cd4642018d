/** Options of the logs that store sessions. */
import type { PostgresOptions } from "../postgres/postgres-options.ts";
import type { LogLimits } from "./log-limits.ts";
import type { StoreMeter } from "./log-monitor.ts";

/** Options of `openSqliteLog` and `openPostgresLog`. */
export interface StoredLogOptions {
  /** Replaces single limits. Default: `LOG_LIMITS`. */
  readonly limits?: Partial<LogLimits>;
  /** Returns the current time in milliseconds since 1970. Default: `Date.now`; in PostgreSQL the clock of the database. */
  readonly now?: () => number;
  /**
   * Interval in milliseconds for polling writes of other processes while sessions are watched. Default: 20; in PostgreSQL,
   * whose notifications usually arrive earlier, 1000.
   */
  readonly pollMs?: number;
  /** Maximum size of the changes that wait to be written in bytes, over all sessions. More throw `backlog_full`. Default: 256 MiB. */
  readonly maxQueueBytes?: number;
  /** How long a search may run, and how long it may wait for others, in milliseconds. Code `search_timeout`. Default: 2,000. */
  readonly searchTimeoutMs?: number;
  /** Maximum number of searches that wait for others. More throw `too_many_searches`. Default: 1,000. */
  readonly maxWaitingSearches?: number;
  /** Receives the duration of every call. Default: none. */
  readonly meter?: StoreMeter;
}

export const STORE_DEFAULTS = {
  maxQueueBytes: 256 * 1024 * 1024,
  searchTimeoutMs: 2000,
  maxWaitingSearches: 1000,
} as const;

/** Options of `openSqliteLog`. */
export interface SqliteLogOptions extends StoredLogOptions {
  /**
   * How long to wait for another process that writes, in milliseconds, before throwing `store_busy`. Default: 10,000.
   */
  readonly busyTimeoutMs?: number;
  /** Number of recent records after which they are moved to chunks, which are faster to read. Default: 4096. */
  readonly maxRecentRows?: number;
  /** Maximum size of the file in bytes. Throws `store_full`. Default: no limit. */
  readonly maxFileBytes?: number;
  /**
   * Maximum file size in bytes that is checked completely when opened, which takes about half a second per gigabyte. In
   * larger files only the lists of sessions and last records are checked. Damage throws `store_corrupt`. Default: 32
   * MiB.
   */
  readonly maxCheckBytes?: number;
}

/** Options of `openPostgresLog`. */
export interface PostgresLogOptions extends StoredLogOptions, PostgresOptions {}
