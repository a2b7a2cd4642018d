/**
 * Does the same with each, whatever happens with the others: the first error is thrown when all are done. Answers that
 * come later are given as one.
 */
import { catchLater, isThenable, settle } from "./shield.ts";

export function doAll<T>(items: readonly T[], act: (item: T) => unknown): unknown {
  const errors: unknown[] = [];
  const later: Promise<unknown>[] = [];
  for (const item of items) {
    try {
      const answer = act(item);
      if (isThenable(answer)) later.push(settle(answer));
    } catch (error) {
      errors.push(error);
    }
  }
  const all = later.length === 0 ? undefined : Promise.all(later);
  if (errors.length === 0) return all;
  catchLater(all, () => undefined);
  throw errors[0];
}
