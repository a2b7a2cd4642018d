/** Waits to be told to stop: the first signal is waited for, the second ends the process at once. */
export interface SignalWait extends Disposable {
  readonly first: Promise<NodeJS.Signals>;
  /** The first has come. */
  readonly isTold: boolean;
}

const SIGNALS: readonly NodeJS.Signals[] = ["SIGINT", "SIGTERM"];
const ENDED_AT_ONCE = 130;

export function waitForSignal(onFirst: () => void): SignalWait {
  const { promise, resolve } = Promise.withResolvers<NodeJS.Signals>();
  let isTold = false;
  const onSignal = (signal: NodeJS.Signals): void => {
    // oxlint-disable-next-line unicorn/no-process-exit -- whoever says so twice does not want to wait for anything
    if (isTold) process.exit(ENDED_AT_ONCE);
    isTold = true;
    onFirst();
    resolve(signal);
  };
  for (const signal of SIGNALS) process.on(signal, onSignal);
  return {
    first: promise,
    get isTold() {
      return isTold;
    },
    [Symbol.dispose]() {
      for (const signal of SIGNALS) process.off(signal, onSignal);
    },
  };
}
