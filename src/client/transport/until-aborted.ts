/** Waiting that ends at once when nobody wants the result any more, whether or not the work itself can be stopped. */

/** What `work` resolves to, or `otherwise` as soon as `signal` is aborted. Leaves no listener behind. */
export function untilAborted<T>(signal: AbortSignal, work: Promise<T>, otherwise: () => T): Promise<T> {
  return new Promise((resolve, reject) => {
    const stop = (): void => resolve(otherwise());
    if (signal.aborted) stop();
    signal.addEventListener("abort", stop, { once: true });
    void work.then(resolve, reject).finally(() => signal.removeEventListener("abort", stop));
  });
}
