/**
 * Runs work on items in parallel, at most `concurrency` at a time. After a failure no new item is started; the first
 * error is thrown when all running work has ended.
 */
export async function runConcurrently<T, R>(
  items: readonly T[],
  concurrency: number,
  work: (item: T, index: number) => Promise<R>,
): Promise<readonly R[]> {
  const results: R[] = [];
  const waiting = items.entries();
  let failure: { readonly error: unknown } | undefined;
  const runNext = async (): Promise<void> => {
    for (const [index, item] of waiting) {
      if (failure !== undefined) return;
      try {
        results[index] = await work(item, index);
      } catch (error) {
        failure ??= { error };
      }
    }
  };
  await Promise.all(Array.from({ length: Math.min(concurrency, items.length) }, runNext));
  if (failure !== undefined) throw failure.error;
  return results;
}
