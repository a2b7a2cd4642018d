/**
 * Calls what others wrote, so that nothing it does comes back: what it throws and what its answer rejects with is told,
 * and goes no further. An asynchronous function where none was asked for is as good as one that throws.
 */

/** What the call gave, or nothing where it threw. `onError` must not throw: shield it where it is somebody's own. */
export function shield<T>(call: () => T, onError: (error: unknown) => void): T | undefined {
  try {
    const answer = call();
    catchLater(answer, onError);
    return answer;
  } catch (error) {
    onError(error);
    return undefined;
  }
}

/** For answers of calls that are guarded already; reading `then` may throw. */
export function catchLater(answer: unknown, onError: (error: unknown) => void): void {
  if (isThenable(answer)) settle(answer).catch(onError);
}

/** `Promise.resolve` would ask a promise for its constructor, which may throw. */
export function settle(answer: PromiseLike<unknown>): Promise<unknown> {
  return new Promise((resolve) => {
    resolve(answer);
  });
}

export function isThenable(value: unknown): value is PromiseLike<unknown> {
  return (
    (typeof value === "object" || typeof value === "function") &&
    value !== null &&
    typeof (value as { readonly then?: unknown }).then === "function"
  );
}
