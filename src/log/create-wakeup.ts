/**
 * Wakes a loop that reads until there is nothing more and then waits. A notification during a read is not lost: the next
 * wait returns at once.
 */
import { MAX_TIMER_MS } from "../protocol/limit-timer.ts";

export interface Wakeup {
  readonly isAborted: boolean;
  /** Wakes the waiting reader, or makes the next `wait` return at once. */
  readonly notify: () => void;
  /** Clears the notification before a read; returns whether there was one. */
  reset(): boolean;
  /** Waits for a notification or the timeout; returns false if aborted. May also return early. */
  wait(ms?: number): Promise<boolean>;
  close(): void;
}

export function createWakeup(signal?: AbortSignal): Wakeup {
  let isNotified = false;
  let wake: (() => void) | undefined;
  const notify = (): void => {
    isNotified = true;
    wake?.();
  };
  signal?.addEventListener("abort", notify, { once: true });
  return {
    get isAborted() {
      return signal?.aborted === true;
    },
    notify,
    reset() {
      const wasNotified = isNotified;
      isNotified = false;
      return wasNotified;
    },
    async wait(ms) {
      if (!isNotified) {
        const { promise, resolve } = Promise.withResolvers<void>();
        wake = resolve;
        // The timer keeps the process alive, so that a program that only follows a session does not exit.
        const timer = setTimeout(resolve, ms ?? MAX_TIMER_MS);
        await promise;
        clearTimeout(timer);
        wake = undefined;
      }
      return !this.isAborted;
    },
    close: () => signal?.removeEventListener("abort", notify),
  };
}
