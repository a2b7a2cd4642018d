/**
 * A log in memory, for tests and short-lived programs. It is also the simplest store of the log. Records are lost when the
 * process ends.
 */
import { Feed } from "./feed.ts";
import { LOG_LIMITS, type LogLimits } from "./log-limits.ts";
import { MemoryTables } from "./memory-tables.ts";
import { StoreLog } from "./store-log.ts";

/** Options of a `MemoryLog`. */
export interface MemoryLogOptions {
  /** Replaces single limits. Default: `LOG_LIMITS`. */
  readonly limits?: Partial<LogLimits>;
  /** Returns the current time in milliseconds since 1970. Default: `Date.now`. */
  readonly now?: () => number;
}

/** A log that keeps its sessions in memory, for tests and for programs without a store. */
export class MemoryLog extends StoreLog {
  readonly #feed: Feed;

  constructor(options: MemoryLogOptions = {}) {
    const { now = Date.now } = options;
    const limits = { ...LOG_LIMITS, ...options.limits };
    const feed = new Feed(limits);
    super({ tables: new MemoryTables(limits, now), feed, limits });
    this.#feed = feed;
  }

  watchOrphans(listener: () => void): () => void {
    return this.#feed.watchOrphans(listener);
  }
}
