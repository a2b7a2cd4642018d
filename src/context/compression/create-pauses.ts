/** Lets others have their turn now and then: a long conversation is counted without a pause otherwise. */
import { setImmediate } from "node:timers/promises";

const LONGEST_BLOCK_MS = 10;

export function createPauses(): () => Promise<void> | undefined {
  let since = performance.now();
  const pause = async (): Promise<void> => {
    await setImmediate();
    since = performance.now();
  };
  return () => (performance.now() - since < LONGEST_BLOCK_MS ? undefined : pause());
}
