/**
 * Calls a function for each item even if some calls fail, then throws the first error. Returns one promise for all
 * results that are promises.
 */
import { catchRejection, isThenable, toPromise } from "./shield.ts";

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
