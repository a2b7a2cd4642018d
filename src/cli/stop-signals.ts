/** Signals that stop a command: the first one is reported, the second ends the process immediately. */

/** Exit code of a command that the user stopped. */
export const STOPPED = 130;

const SIGNALS: readonly NodeJS.Signals[] = ["SIGINT", "SIGTERM", "SIGHUP"];

export interface SignalWait extends Disposable {
  readonly first: Promise<NodeJS.Signals>;
  /** The first signal has arrived. */
  readonly isStopping: boolean;
}

export function waitForSignal(onFirst: () => void): SignalWait {
  const { promise, resolve } = Promise.withResolvers<NodeJS.Signals>();
  let isStopping = false;
  const onSignal = (signal: NodeJS.Signals): void => {
    // oxlint-disable-next-line unicorn/no-process-exit -- a second signal must end the process immediately
    if (isStopping) process.exit(STOPPED);
    isStopping = true;
    onFirst();
    resolve(signal);
  };
  for (const signal of SIGNALS) process.on(signal, onSignal);
  return {
    first: promise,
    get isStopping() {
      return isStopping;
    },
    [Symbol.dispose]() {
      for (const signal of SIGNALS) process.off(signal, onSignal);
    },
  };
}

/** Runs work whose signal is aborted by the first of these. Returns true if it was; errors after that are ignored. */
export async function untilStopped(work: (signal: AbortSignal) => Promise<void>, reason?: Error): Promise<boolean> {
  const stop = new AbortController();
  using _signals = waitForSignal(() => stop.abort(reason));
  try {
    await work(stop.signal);
  } catch (error) {
    if (!stop.signal.aborted) throw error;
  }
  return stop.signal.aborted;
}
