/** Limits how many operations run at once. The others wait in the order of arrival. */
import { LoomError } from "../protocol/index.ts";
import { untilAborted } from "../protocol/until-aborted.ts";

/** Default limit for waiting operations. Code `queue_full`. */
const MAX_WAITING = 10_000;

/** Frees the slot. Calling it again has no effect. */
export type Release = () => void;

export class ConcurrencyLimit {
  readonly #limit: number;
  readonly #maxWaiting: number;
  readonly #waiting = new Set<() => void>();
  #running = 0;

  constructor(limit: number, maxWaiting: number = MAX_WAITING) {
    this.#limit = limit;
    this.#maxWaiting = maxWaiting;
  }

  /**
   * Waits for a free slot. Rejects with the reason of the signal if it aborts first, and with `queue_full` if too many
   * already wait.
   */
  async enter(signal: AbortSignal): Promise<Release> {
    signal.throwIfAborted();
    if (this.#running >= this.#limit) await this.#wait(signal);
    else this.#running++;
    let isInside = true;
    return () => {
      if (!isInside) return;
      isInside = false;
      this.#release();
    };
  }

  async #wait(signal: AbortSignal): Promise<void> {
    if (this.#waiting.size >= this.#maxWaiting)
      throw new LoomError(
        "queue_full",
        `${this.#waiting.size} calls are already waiting for this tool; try again later`,
        { limit: this.#maxWaiting },
      );
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#waiting.add(resolve);
    try {
      await untilAborted(promise, signal);
    } catch (error) {
      // The slot may have been granted in the same moment: pass it on.
      if (!this.#waiting.delete(resolve)) this.#release();
      throw error;
    }
  }

  /** Hands the slot to the next waiting operation. */
  #release(): void {
    const [next] = this.#waiting;
    if (next === undefined) {
      this.#running--;
      return;
    }
    this.#waiting.delete(next);
    next();
  }
}
