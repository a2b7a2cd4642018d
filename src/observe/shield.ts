/**
 * Calls foreign code and contains its failures: thrown errors and rejected promises are reported and go no further.
 * Code that returns a promise where none is expected is handled too.
 */

/** Returns the result of the call, or undefined if it threw. `onError` must not throw. */
export function shield<T>(call: () => T, onError: (error: unknown) => void): T | undefined {
  try {
    const answer = call();
    catchRejection(answer, onError);
    return answer;
  } catch (error) {
    onError(error);
    return undefined;
  }
}

/** Reports the rejection of a result if it is a promise. Can throw if reading `then` throws. */
export function catchRejection(answer: unknown, onError: (error: unknown) => void): void {
  if (isThenable(answer)) toPromise(answer).catch(onError);
}

/** Unlike `Promise.resolve`, does not read the constructor of the promise, which can throw. */
export function toPromise(answer: PromiseLike<unknown>): Promise<unknown> {
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

/**
 * Calls a function for each item even if some calls fail, then throws the first error. Returns one promise for all
 * results that are promises.
 */
export function callAll<T>(items: readonly T[], act: (item: T) => unknown): unknown {
  const errors: unknown[] = [];
  const later: Promise<unknown>[] = [];
  for (const item of items) {
    try {
      const answer = act(item);
      if (isThenable(answer)) later.push(toPromise(answer));
    } catch (error) {
      errors.push(error);
    }
  }
  const all = later.length === 0 ? undefined : Promise.all(later);
  if (errors.length === 0) return all;
  catchRejection(all, () => undefined);
  throw errors[0];
}
