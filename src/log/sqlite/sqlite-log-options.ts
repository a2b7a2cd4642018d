/** Options of the log in a SQLite file. */
import type { StoreMeter } from "../log-monitor.ts";
import type { LogLimits } from "../log-limits.ts";

/** Options of `openSqliteLog`. */
export interface SqliteLogOptions {
  /** Replaces single limits. Default: `LOG_LIMITS`. */
  readonly limits?: Partial<LogLimits>;
  /** Returns the current time in milliseconds since 1970. Default: `Date.now`. */
  readonly now?: () => number;
  /** Interval in milliseconds for polling writes of other processes while sessions are watched. Default: 20. */
  readonly pollMs?: number;
  /**
   * How long to wait for another process that writes, in milliseconds, before throwing `store_busy`. Default: 10,000.
   */
  readonly busyTimeoutMs?: number;
  /** Maximum size of the write queue in bytes, over all sessions. More throw `backlog_full`. Default: 256 MiB. */
  readonly maxQueueBytes?: number;
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
  /** How long a search may run, and how long it may wait for others, in milliseconds. Code `search_timeout`. Default: 2,000. */
  readonly searchTimeoutMs?: number;
  /** Maximum number of searches that wait for others. More throw `too_many_searches`. Default: 1,000. */
  readonly maxWaitingSearches?: number;
  /** Receives the duration of every call. Default: none. */
  readonly meter?: StoreMeter;
}
