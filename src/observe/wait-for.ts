/** Waits for a promise with a time limit. Returns false if the time is up. `Infinity` means no limit. */
export async function waitFor(work: Promise<unknown>, timeoutMs: number): Promise<boolean> {
  const { promise, resolve } = Promise.withResolvers<boolean>();
  const timer =
    timeoutMs === Number.POSITIVE_INFINITY ? undefined : setTimeout(() => resolve(false), Math.ceil(timeoutMs));
  try {
    return await Promise.race([work.then(() => true), promise]);
  } finally {
    clearTimeout(timer);
  }
}
