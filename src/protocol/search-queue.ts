/** Limits the searches of a process: few run at the same time, the others wait in order of arrival. */
import { LoomError } from "./loom-error.ts";
import { untilAborted } from "./until-aborted.ts";

const MAX_RUNNING = 2;

interface SearchQueueOptions {
  /** Maximum number of searches that run at the same time. Default: 2. */
  readonly maxRunning?: number;
  /** Maximum number of searches that wait. More throw `too_many_searches`. */
  readonly maxWaiting: number;
  /** How long a search may wait, in milliseconds. Longer throws `search_timeout`. */
  readonly timeoutMs: number;
}

export class SearchQueue {
  readonly #options: SearchQueueOptions;
  readonly #waiting = new Set<() => void>();
  #running = 0;

  constructor(options: SearchQueueOptions) {
    this.#options = options;
  }

  /**
   * Throws `too_many_searches`, `search_timeout` if it waited too long, and the reason of the signal as soon as it
   * aborts. The next search runs when this one has ended, also after it was aborted.
   */
  async run<T>(search: () => Promise<T>, signal: AbortSignal | undefined): Promise<T> {
    signal?.throwIfAborted();
    const { maxRunning = MAX_RUNNING } = this.#options;
    if (this.#running >= maxRunning) await this.#wait(signal);
    else this.#running++;
    const result = search().finally(() => this.#release());
    return orAborted(result, signal);
  }

  async #wait(signal: AbortSignal | undefined): Promise<void> {
    const { maxWaiting, timeoutMs } = this.#options;
    if (this.#waiting.size >= maxWaiting)
      throw new LoomError("too_many_searches", "Too many searches are waiting; try again later", { limit: maxWaiting });
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
    if (performance.now() - began <= timeoutMs) return;
    this.#release();
    const text = "The search waited too long for others; try again later";
    throw new LoomError("search_timeout", text, { limit: timeoutMs });
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

/** The error of a search that ran too long. */
export function searchTimedOut(timeoutMs: number): LoomError {
  const text = "The search took too long; use rarer or longer words, or try again later";
  return new LoomError("search_timeout", text, { limit: timeoutMs });
}

async function orAborted<T>(result: Promise<T>, signal: AbortSignal | undefined): Promise<T> {
  return signal === undefined ? result : untilAborted(result, signal);
}
