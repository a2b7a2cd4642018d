/** Waits for a promise, but no longer than until a signal is aborted. */

/**
 * Resolves with the result of `work`, or with `otherwise()` as soon as `signal` is aborted. Leaves no listener behind.
 */
export function untilAborted<T>(signal: AbortSignal, work: Promise<T>, otherwise: () => T): Promise<T> {
  return new Promise((resolve, reject) => {
    const stop = (): void => resolve(otherwise());
    if (signal.aborted) stop();
    signal.addEventListener("abort", stop, { once: true });
    void work.then(resolve, reject).finally(() => signal.removeEventListener("abort", stop));
  });
}
