/**
 * Renews a lease and reports when it is lost. Other renewal failures are retried; meanwhile the epoch protects the log
 * from two writers.
 */
import type { Lease, Log } from "../log/log.ts";
import { isLoomError, LoomError } from "../protocol/index.ts";

export interface LeaseKeeperOptions {
  readonly ttlMs: number;
  /** Another writer holds the session now, or the session was deleted. */
  readonly onLost: (error: LoomError) => void;
  /** Called after each renewal. Use it for periodic checks. */
  readonly onRenewed: () => void;
}

/** How often a lease is renewed before it would expire. */
export const RENEWALS_PER_LEASE = 3;

/** Keeps the interval within the range of timers. Renewals also drive periodic checks, so they must not be rare. */
const MAX_INTERVAL_MS = 60 * 60 * 1000;

/** Renewals of a process that are due within this time are made together, so that the log writes them together. */
const TOGETHER_MS = 250;

export class LeaseKeeper {
  readonly #log: Log;
  readonly #options: LeaseKeeperOptions;
  readonly #intervalMs: number;
  #timer: NodeJS.Timeout | undefined;
  #lease: Lease;
  #isRenewing = false;
  #isNeeded = false;

  constructor(log: Log, lease: Lease, options: LeaseKeeperOptions) {
    this.#log = log;
    this.#lease = lease;
    this.#options = options;
    this.#intervalMs = Math.min(Math.max(1, options.ttlMs / RENEWALS_PER_LEASE), MAX_INTERVAL_MS);
    this.#schedule();
  }

  /** While `isNeeded` is true, the lease keeps the process alive. */
  keepAlive(isNeeded: boolean): void {
    this.#isNeeded = isNeeded;
    if (isNeeded) this.#timer?.ref();
    else this.#timer?.unref();
  }

  get lease(): Lease {
    return this.#lease;
  }

  stop(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
  }

  /** Schedules the next renewal for a time that other leases share, at most one interval from now. */
  #schedule(): void {
    const now = performance.now();
    const step = Math.min(TOGETHER_MS, this.#intervalMs / 4);
    const due = Math.floor((now + this.#intervalMs) / step) * step;
    this.#timer = setTimeout(() => {
      this.#schedule();
      void this.#renew();
    }, due - now);
    if (!this.#isNeeded) this.#timer.unref();
  }

  async #renew(): Promise<void> {
    if (this.#isRenewing) return;
    this.#isRenewing = true;
    try {
      this.#lease = await this.#log.renew(this.#lease, this.#options.ttlMs);
    } catch (error) {
      if (isLoomError(error, "fenced")) this.#options.onLost(error);
      else if (isLoomError(error, "unknown_session"))
        this.#options.onLost(new LoomError("fenced", "The session was deleted", {}, { cause: error }));
      // Other failures are retried at the next interval.
      return;
    } finally {
      this.#isRenewing = false;
    }
    this.#options.onRenewed();
  }
}
