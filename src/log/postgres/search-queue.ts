/** Limits the searches of a process: few run at the same time, the others wait in order of arrival. */
import { LoomError } from "../../protocol/loom-error.ts";

const MAX_RUNNING = 2;

export class SearchQueue {
  readonly #timeoutMs: number;
  readonly #maxWaiting: number;
  readonly #waiting: (() => void)[] = [];
  #running = 0;

  constructor(timeoutMs: number, maxWaiting: number) {
    this.#timeoutMs = timeoutMs;
    this.#maxWaiting = maxWaiting;
  }

  /** Throws `too_many_searches`, `search_timeout` if it waited too long, and the reason of the signal. */
  async run<T>(search: () => Promise<T>, signal: AbortSignal | undefined): Promise<T> {
    signal?.throwIfAborted();
    if (this.#running >= MAX_RUNNING) await this.#wait();
    this.#running++;
    try {
      signal?.throwIfAborted();
      return await orAborted(search(), signal);
    } finally {
      this.#running--;
      this.#waiting.shift()?.();
    }
  }

  async #wait(): Promise<void> {
    if (this.#waiting.length >= this.#maxWaiting)
      throw new LoomError("too_many_searches", "Too many searches are waiting; try again later", {
        limit: this.#maxWaiting,
      });
    const began = performance.now();
    await new Promise<void>((resolve) => this.#waiting.push(resolve));
    if (performance.now() - began <= this.#timeoutMs) return;
    this.#waiting.shift()?.();
    throw new LoomError("search_timeout", "The search waited too long for others; try again later", {
      limit: this.#timeoutMs,
    });
  }
}

/** Rejects as soon as the signal aborts; the search ends by itself. */
async function orAborted<T>(result: Promise<T>, signal: AbortSignal | undefined): Promise<T> {
  if (signal === undefined) return result;
  const { promise, reject } = Promise.withResolvers<never>();
  const abort = (): void => reject(signal.reason);
  signal.addEventListener("abort", abort, { once: true });
  result.catch(() => undefined);
  try {
    return await Promise.race([result, promise]);
  } finally {
    signal.removeEventListener("abort", abort);
  }
}
