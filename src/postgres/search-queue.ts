/** Limits the searches of a process: few run at the same time, the others wait in order of arrival. */
import { LoomError } from "../protocol/loom-error.ts";
import { untilAborted } from "../protocol/until-aborted.ts";

const MAX_RUNNING = 2;

export class SearchQueue {
  readonly #timeoutMs: number;
  readonly #maxWaiting: number;
  readonly #waiting = new Set<() => void>();
  #running = 0;

  constructor(timeoutMs: number, maxWaiting: number) {
    this.#timeoutMs = timeoutMs;
    this.#maxWaiting = maxWaiting;
  }

  /**
   * Throws `too_many_searches`, `search_timeout` if it waited too long, and the reason of the signal as soon as it
   * aborts. A running search then ends by itself.
   */
  async run<T>(search: () => Promise<T>, signal: AbortSignal | undefined): Promise<T> {
    signal?.throwIfAborted();
    if (this.#running >= MAX_RUNNING) await this.#wait(signal);
    else this.#running++;
    try {
      return await orAborted(search(), signal);
    } finally {
      this.#release();
    }
  }

  async #wait(signal: AbortSignal | undefined): Promise<void> {
    if (this.#waiting.size >= this.#maxWaiting)
      throw new LoomError("too_many_searches", "Too many searches are waiting; try again later", {
        limit: this.#maxWaiting,
      });
    const began = performance.now();
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#waiting.add(resolve);
    try {
      await orAborted(promise, signal);
    } catch (error) {
      // The slot may have been granted in the same moment: pass it on.
      if (!this.#waiting.delete(resolve)) this.#release();
      throw error;
    }
    if (performance.now() - began <= this.#timeoutMs) return;
    this.#release();
    throw new LoomError("search_timeout", "The search waited too long for others; try again later", {
      limit: this.#timeoutMs,
    });
  }

  /** Hands the slot to the next waiting search. */
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

async function orAborted<T>(result: Promise<T>, signal: AbortSignal | undefined): Promise<T> {
  return signal === undefined ? result : untilAborted(result, signal);
}
