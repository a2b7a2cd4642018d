/** Options of a log in PostgreSQL. */
import type { PostgresOptions } from "../../postgres/postgres-options.ts";
import type { StoreMeter } from "../log-monitor.ts";
import type { LogLimits } from "../log-limits.ts";

/** Options of `openPostgresLog`. */
export interface PostgresLogOptions extends PostgresOptions {
  /** Replaces single limits. Default: `LOG_LIMITS`. */
  readonly limits?: Partial<LogLimits>;
  /** Returns the current time in milliseconds since 1970, for tests. Default: the clock of the database. */
  readonly now?: () => number;
  /**
   * Interval in milliseconds for polling writes of other processes while sessions are watched. Notifications usually
   * arrive earlier. Default: 1000.
   */
  readonly pollMs?: number;
  /** Minimum pause in milliseconds between notifications to other processes; at least twice the time of one. Default: 2. */
  readonly notifyMs?: number;
  /** Maximum size of the waiting appends in bytes, over all sessions. More throw `backlog_full`. Default: 256 MiB. */
  readonly maxQueueBytes?: number;
  /** How long a search may run, and how long it may wait for others, in milliseconds. Code `search_timeout`. Default: 2,000. */
  readonly searchTimeoutMs?: number;
  /** Maximum number of searches that wait for others. More throw `too_many_searches`. Default: 1,000. */
  readonly maxWaitingSearches?: number;
  /** Receives the duration of every call. Default: none. */
  readonly meter?: StoreMeter;
}
