/**
 * Lets so many through at once, and the others wait in the order they came. It knows nothing of what is done inside.
 */
import { LoomError } from "../protocol/index.ts";
import { untilAborted } from "./until-aborted.ts";

/** Calls that may wait. Code `queue_full`. */
const MAX_WAITING = 10_000;

/** To be called when done; calling it again does nothing. */
export type Release = () => void;

export class Gate {
  readonly #limit: number;
  readonly #maxWaiting: number;
  readonly #waiting = new Set<() => void>();
  #inside = 0;

  constructor(limit: number, maxWaiting: number = MAX_WAITING) {
    this.#limit = limit;
    this.#maxWaiting = maxWaiting;
  }

  /** Resolves when it is one's turn; rejects with the signal's reason when that comes first. */
  async enter(signal: AbortSignal): Promise<Release> {
    signal.throwIfAborted();
    if (this.#inside >= this.#limit) await this.#wait(signal);
    else this.#inside++;
    let isInside = true;
    return () => {
      if (!isInside) return;
      isInside = false;
      this.#leave();
    };
  }

  async #wait(signal: AbortSignal): Promise<void> {
    if (this.#waiting.size >= this.#maxWaiting)
      throw new LoomError("queue_full", `${this.#waiting.size} calls wait for this tool`, { limit: this.#maxWaiting });
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#waiting.add(resolve);
    try {
      await untilAborted(promise, signal);
    } catch (error) {
      // Its turn may have come in the same moment: then it is the next one's.
      if (!this.#waiting.delete(resolve)) this.#leave();
      throw error;
    }
  }

  /** Whoever leaves hands its place on. */
  #leave(): void {
    const [next] = this.#waiting;
    if (next === undefined) {
      this.#inside--;
      return;
    }
    this.#waiting.delete(next);
    next();
  }
}
