/** Waits `ms` milliseconds or until `signal` aborts; resolves in both cases and leaves no timer or listener. */
export async function pauseFor(ms: number, signal?: AbortSignal): Promise<void> {
  await new Promise<void>((resolve) => {
    const done = (): void => {
      clearTimeout(timer);
      signal?.removeEventListener("abort", done);
      resolve();
    };
    const timer = setTimeout(done, ms);
    if (signal?.aborted === true) done();
    else signal?.addEventListener("abort", done);
  });
}
