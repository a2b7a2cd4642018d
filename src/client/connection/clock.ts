/**
 * Time as a connection knows it, so that a test can be its own clock. Also waiting that somebody can cut short.
 */
export interface Clock {
  /** Milliseconds since any moment; never goes back. */
  now(): number;
  setTimeout(callback: () => void, ms: number): unknown;
  clearTimeout(timer: unknown): void;
  /** At least 0, less than 1. */
  random(): number;
}

export const SYSTEM_CLOCK: Clock = {
  now: () => performance.now(),
  setTimeout: (callback, ms) => setTimeout(callback, ms),
  clearTimeout: (timer) => clearTimeout(timer as number | undefined),
  random: () => Math.random(),
};

/** One pause at a time. Leaves neither timer nor listener behind. */
export class Pause {
  readonly #clock: Clock;
  #end: (() => void) | undefined;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Resolves after so long, when woken, or when the machine is online again: whatever is first. */
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
      const unlisten = onOnline(end);
      this.#end = end;
    });
  }

  wake(): void {
    this.#end?.();
  }
}

/** Only pages and workers are told; elsewhere nothing happens. */
function onOnline(callback: () => void): () => void {
  if (typeof globalThis.addEventListener !== "function") return () => undefined;
  globalThis.addEventListener("online", callback);
  return () => globalThis.removeEventListener("online", callback);
}
