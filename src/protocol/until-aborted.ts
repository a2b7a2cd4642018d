/** Waits for a promise, but no longer than until a signal aborts. */

/**
 * Settles like `work`. When the signal aborts first, rejects with its reason, or resolves with `otherwise()` if it is
 * given. Leaves no listener behind, and a later rejection of `work` is not reported as unhandled.
 */
export function untilAborted<T>(work: PromiseLike<T>, signal: AbortSignal, otherwise?: () => T): Promise<T> {
  const { promise, resolve, reject } = Promise.withResolvers<T>();
  const stop = (): void => (otherwise === undefined ? reject(signal.reason) : resolve(otherwise()));
  const end = (): void => signal.removeEventListener("abort", stop);
  if (signal.aborted) stop();
  else signal.addEventListener("abort", stop, { once: true });
  work.then(
    (value) => {
      end();
      resolve(value);
    },
    (error: unknown) => {
      end();
      reject(error);
    },
  );
  return promise;
}
