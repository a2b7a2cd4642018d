/**
 * Waits for the lock of a SQLite file without blocking the thread: work that finds the file locked by another process is
 * tried again, in the order of arrival.
 *
 * Invariant: however much work waits, one attempt is made per pause.
 */
import { setTimeout as sleep } from "node:timers/promises";
import { isLoomError, LoomError } from "../../../protocol/loom-error.ts";

const PAUSE_MS = 10;
/** How much work can wait; more fails with `store_busy` at once. */
export const MAX_WAITING = 1000;
const ignore = (): void => undefined;

export class LockQueue {
  readonly #maxWaitMs: number;
  #waiting = 0;
  #last: Promise<void> = Promise.resolve();

  /** Work that waits longer fails with `store_busy`. */
  constructor(maxWaitMs: number) {
    this.#maxWaitMs = maxWaitMs;
  }

  /** Resolves when no work waits. */
  get idle(): Promise<void> {
    return this.#last;
  }

  /** Runs `work`, which must throw `store_busy` if the file is locked and must then have changed nothing. */
  async run<T>(work: () => T): Promise<T> {
    const until = performance.now() + this.#maxWaitMs;
    if (this.#waiting === 0)
      try {
        return work();
      } catch (error) {
        if (!isLoomError(error, "store_busy")) throw error;
      }
    if (this.#waiting >= MAX_WAITING)
      throw new LoomError("store_busy", "Another process is writing the store, and too many operations wait for it");
    this.#waiting++;
    const attempt = this.#last.then(() => retry(work, until)).finally(() => this.#waiting--);
    this.#last = attempt.then(ignore, ignore);
    return attempt;
  }
}

async function retry<T>(work: () => T, until: number): Promise<T> {
  for (;;)
    try {
      return work();
    } catch (error) {
      if (!isLoomError(error, "store_busy") || performance.now() >= until) throw error;
      await sleep(PAUSE_MS);
    }
}
