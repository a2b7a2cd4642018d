/** Runs work that the user ends with Ctrl-C. */

/** Exit code of a command that the user stopped. */
export const STOPPED = 130;

/** Aborts the signal on SIGINT or SIGTERM. A second signal ends the process at once. Returns true if it was stopped. */
export async function untilStopped(work: (signal: AbortSignal) => Promise<void>): Promise<boolean> {
  const stop = new AbortController();
  const onSignal = (): void => {
    // oxlint-disable-next-line unicorn/no-process-exit -- a second signal must end the process immediately
    if (stop.signal.aborted) process.exit(STOPPED);
    stop.abort();
  };
  process.on("SIGINT", onSignal).on("SIGTERM", onSignal);
  try {
    await work(stop.signal);
  } finally {
    process.off("SIGINT", onSignal).off("SIGTERM", onSignal);
  }
  return stop.signal.aborted;
}
