/**
 * Work that goes on side by side, so much of it at once as may be. All of it comes to its end, also where some of it
 * fails: the first failure is thrown when nothing is going any more, and nothing new is begun after it.
 */
export async function runSideBySide<T, R>(
  items: readonly T[],
  concurrency: number,
  work: (item: T, index: number) => Promise<R>,
): Promise<readonly R[]> {
  const results: R[] = [];
  const waiting = items.entries();
  let failure: { readonly error: unknown } | undefined;
  const goOn = async (): Promise<void> => {
    for (const [index, item] of waiting) {
      if (failure !== undefined) return;
      try {
        results[index] = await work(item, index);
      } catch (error) {
        failure ??= { error };
      }
    }
  };
  await Promise.all(Array.from({ length: Math.min(concurrency, items.length) }, goOn));
  if (failure !== undefined) throw failure.error;
  return results;
}
