/** Waits for something, but not for ever: true when it is done, false when the time is up. `Infinity` is no limit. */
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
