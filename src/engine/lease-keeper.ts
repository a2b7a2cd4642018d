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
  /** Called after each renewal. Use it to check for changes whose hints were lost. */
  readonly onRenewed: () => void;
}

/** Keeps the interval within the range of timers. Renewals also drive periodic checks, so they must not be rare. */
const MAX_INTERVAL_MS = 60 * 60 * 1000;

export class LeaseKeeper {
  readonly #log: Log;
  readonly #options: LeaseKeeperOptions;
  readonly #timer: NodeJS.Timeout;
  #lease: Lease;
  #isRenewing = false;

  constructor(log: Log, lease: Lease, options: LeaseKeeperOptions) {
    this.#log = log;
    this.#lease = lease;
    this.#options = options;
    this.#timer = setInterval(() => void this.#renew(), Math.min(Math.max(1, options.ttlMs / 3), MAX_INTERVAL_MS));
    this.#timer.unref();
  }

  /** While `isNeeded` is true, the lease keeps the process alive. */
  keepAlive(isNeeded: boolean): void {
    if (isNeeded) this.#timer.ref();
    else this.#timer.unref();
  }

  get lease(): Lease {
    return this.#lease;
  }

  stop(): void {
    clearInterval(this.#timer);
  }

  async #renew(): Promise<void> {
    if (this.#isRenewing) return;
    this.#isRenewing = true;
    try {
      this.#lease = await this.#log.renew(this.#lease, this.#options.ttlMs);
      this.#options.onRenewed();
    } catch (error) {
      if (isLoomError(error, "fenced")) this.#options.onLost(error);
      else if (isLoomError(error, "unknown_session"))
        this.#options.onLost(new LoomError("fenced", "The session was deleted", {}, { cause: error }));
    } finally {
      this.#isRenewing = false;
    }
  }
}
