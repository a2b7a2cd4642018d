/** The clock of a connection, replaceable in tests, and a pause that can be ended early. */

/** A source of time and randomness. */
export interface Clock {
  /** Monotonic time in milliseconds, from an arbitrary origin. */
  now(): number;
  setTimeout(callback: () => void, ms: number): unknown;
  clearTimeout(timer: unknown): void;
  /** At least 0 and less than 1. */
  random(): number;
}

/** The real clock. */
export const SYSTEM_CLOCK: Clock = {
  now: () => performance.now(),
  setTimeout: (callback, ms) => setTimeout(callback, ms),
  clearTimeout: (timer) => clearTimeout(timer as number | undefined),
  random: () => Math.random(),
};

/**
 * A pause that can be ended early. It leaves no timer or listener behind. Starting a new pause ends the previous one.
 */
export class Pause {
  readonly #clock: Clock;
  #end: (() => void) | undefined;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Resolves after `ms` milliseconds, on `wake()`, or when the device comes online, whichever is first. */
  wait(ms: number): Promise<void> {
    this.wake();
    return new Promise((resolve) => {
      const end = (): void => {
        this.#end = undefined;
        this.#clock.clearTimeout(timer);
        unlisten();
        resolve();
      };
      const timer = this.#clock.setTimeout(end, ms);
      const unlisten = onNetwork("online", end);
      this.#end = end;
    });
  }

  wake(): void {
    this.#end?.();
  }
}

/**
 * Calls `callback` when the device comes online or goes offline, and returns a function that ends that. Only pages and
 * workers have these events; elsewhere this does nothing.
 */
export function onNetwork(type: "online" | "offline", callback: () => void): () => void {
  if (typeof globalThis.addEventListener !== "function") return () => undefined;
  globalThis.addEventListener(type, callback);
  return () => globalThis.removeEventListener(type, callback);
}
