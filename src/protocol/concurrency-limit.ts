/** Limits how many operations run at once. The others wait in the order of arrival. */
import { limitTimer } from "./limit-timer.ts";
import { LoomError } from "./loom-error.ts";
import { untilAborted } from "./until-aborted.ts";

export interface WaitingLimits {
  /** Maximum number of operations that wait. Default: 10,000. */
  readonly maxWaiting?: number | undefined;
  /** The error of an operation if as many already wait. Default: `queue_full`. */
  readonly tooMany?: ((maxWaiting: number) => LoomError) | undefined;
  /** How long an operation may wait, in milliseconds, and the error of one that waited longer. Default: any time. */
  readonly time?: { readonly maxMs: number; readonly tooLong: (maxMs: number) => LoomError } | undefined;
}

const MAX_WAITING = 10_000;

/** Frees the slot. Calling it again has no effect. */
export type Release = () => void;

export class ConcurrencyLimit {
  readonly #limit: number;
  readonly #options: WaitingLimits;
  readonly #waiting = new Set<() => void>();
  #running = 0;

  constructor(limit: number, options: WaitingLimits = {}) {
    this.#limit = limit;
    this.#options = options;
  }

  /** Whether no operation runs or waits. */
  get isIdle(): boolean {
    return this.#running === 0;
  }

  /** Runs an operation when a slot is free. Rejects like `enter`. */
  async run<T>(operation: () => Promise<T>, signal?: AbortSignal): Promise<T> {
    const release = await this.enter(signal);
    try {
      return await operation();
    } finally {
      release();
    }
  }

  /** Waits for a free slot. Rejects with the reason of the signal if it aborts first, and if a limit is reached. */
  async enter(signal?: AbortSignal): Promise<Release> {
    signal?.throwIfAborted();
    if (this.#running >= this.#limit) await this.#wait(signal);
    else this.#running++;
    let isInside = true;
    return () => {
      if (!isInside) return;
      isInside = false;
      this.#release();
    };
  }

  async #wait(signal: AbortSignal | undefined): Promise<void> {
    const { maxWaiting = MAX_WAITING, tooMany = queueFull, time } = this.#options;
    if (this.#waiting.size >= maxWaiting) throw tooMany(maxWaiting);
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    const timer = time && setTimeout(() => reject(time.tooLong(time.maxMs)), limitTimer(time.maxMs));
    this.#waiting.add(resolve);
    try {
      await (signal === undefined ? promise : untilAborted(promise, signal));
    } catch (error) {
      // The slot may have been granted in the same moment: pass it on.
      if (!this.#waiting.delete(resolve)) this.#release();
      throw error;
    } finally {
      clearTimeout(timer);
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

function queueFull(limit: number): LoomError {
  return new LoomError("queue_full", `${limit} operations are already waiting; try again later`, { limit });
}
