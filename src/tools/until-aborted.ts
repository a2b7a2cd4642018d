/**
 * Waits for a promise no longer than a signal allows. Whatever comes first, no listener stays behind, and a promise that
 * is given up on harms nobody when it fails later.
 */
export async function untilAborted<T>(promise: PromiseLike<T>, signal: AbortSignal): Promise<T> {
  const { promise: aborted, reject } = Promise.withResolvers<never>();
  const onAbort = (): void => reject(signal.reason);
  if (signal.aborted) onAbort();
  else signal.addEventListener("abort", onAbort, { once: true });
  try {
    return await Promise.race([aborted, promise]);
  } finally {
    signal.removeEventListener("abort", onAbort);
    aborted.catch(() => undefined);
  }
}
