/** Waits for SIGINT, SIGTERM or SIGHUP. The first signal is reported; the second ends the process immediately. */
export interface SignalWait extends Disposable {
  readonly first: Promise<NodeJS.Signals>;
  /** The first signal has arrived. */
  readonly isStopping: boolean;
}

const SIGNALS: readonly NodeJS.Signals[] = ["SIGINT", "SIGTERM", "SIGHUP"];
const SECOND_SIGNAL_EXIT_CODE = 130;

export function waitForSignal(onFirst: () => void): SignalWait {
  const { promise, resolve } = Promise.withResolvers<NodeJS.Signals>();
  let isStopping = false;
  const onSignal = (signal: NodeJS.Signals): void => {
    // oxlint-disable-next-line unicorn/no-process-exit -- a second signal must end the process immediately
    if (isStopping) process.exit(SECOND_SIGNAL_EXIT_CODE);
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
