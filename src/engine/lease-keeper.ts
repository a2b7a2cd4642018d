/**
 * Keeps a lease from running out, and says when it has passed to somebody else. Other failures are tried again: the
 * epoch protects the log meanwhile.
 */
import type { Lease, Log } from "../log/log.ts";
import { isLoomError, LoomError } from "../protocol/index.ts";

export interface LeaseKeeperOptions {
  readonly ttlMs: number;
  /** Somebody else writes the session now, or nobody can. */
  readonly onLost: (error: LoomError) => void;
  /** Each time it was renewed: an occasion to look for what hints did not tell. */
  readonly onRenewed: () => void;
}

/** A longer one would overflow the clock, and a lease is an occasion to look around. */
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

  /** While this is true, the process lives on for the session, whatever else it has to do. */
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
        this.#options.onLost(new LoomError("fenced", "the session was deleted", {}, { cause: error }));
    } finally {
      this.#isRenewing = false;
    }
  }
}
