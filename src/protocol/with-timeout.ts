/** Runs work with a time limit and a signal. */
import { limitTimer } from "./limit-timer.ts";
import { untilAborted } from "./until-aborted.ts";

export interface TimeoutOptions {
  readonly timeoutMs: number;
  /** The error of work that takes longer. */
  readonly late: () => Error;
  /** Ends the work earlier. Default: never. */
  readonly signal?: AbortSignal | undefined;
}

/**
 * Settles like `work`, but rejects with `late()` after the time, and with the reason of `signal` when it aborts first.
 * The signal of the work asks it to stop then; work that ignores it is abandoned. Leaves no timer behind, and no
 * listener on `signal`.
 */
export async function withTimeout<T>(
  { timeoutMs, late, signal }: TimeoutOptions,
  work: (signal: AbortSignal) => T | PromiseLike<T>,
): Promise<T> {
  signal?.throwIfAborted();
  // A separate signal, because many libraries do not remove their listeners.
  const controller = new AbortController();
  const stop = (): void => controller.abort(signal?.reason);
  signal?.addEventListener("abort", stop, { once: true });
  const timer = setTimeout(() => controller.abort(late()), limitTimer(timeoutMs));
  try {
    // The inner function turns a synchronous error into a rejection.
    return await untilAborted((async () => work(controller.signal))(), controller.signal);
  } finally {
    clearTimeout(timer);
    signal?.removeEventListener("abort", stop);
  }
}
