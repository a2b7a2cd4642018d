/** Waits to be told to stop: the first signal is waited for, the second ends the process at once. */
export interface SignalWait extends Disposable {
  readonly first: Promise<NodeJS.Signals>;
}

const SIGNALS: readonly NodeJS.Signals[] = ["SIGINT", "SIGTERM"];
const ENDED_AT_ONCE = 130;

export function waitForSignal(): SignalWait {
  const { promise, resolve } = Promise.withResolvers<NodeJS.Signals>();
  let isTold = false;
  const onSignal = (signal: NodeJS.Signals): void => {
    // Whatever is still going on, nothing of it is waited for.
    // oxlint-disable-next-line unicorn/no-process-exit
    if (isTold) process.exit(ENDED_AT_ONCE);
    isTold = true;
    resolve(signal);
  };
  for (const signal of SIGNALS) process.on(signal, onSignal);
  return {
    first: promise,
    [Symbol.dispose]() {
      for (const signal of SIGNALS) process.off(signal, onSignal);
    },
  };
}
