/**
 * Retries a failed operation with exponential back-off until it succeeds or is stopped. The timer does not keep the
 * process alive.
 */
export class BackOff {
  readonly #firstMs: number;
  readonly #attempt: () => Promise<void>;
  #timer: NodeJS.Timeout | undefined;
  #tries = 0;
  #isStopped = false;

  constructor(firstMs: number, attempt: () => Promise<void>) {
    this.#firstMs = firstMs;
    this.#attempt = attempt;
  }

  /** Schedules the next attempt. An attempt that fails schedules another. */
  plan(): void {
    clearTimeout(this.#timer);
    if (this.#isStopped) return;
    const pause = Math.min(this.#firstMs * 2 ** this.#tries, Math.max(MAX_PAUSE_MS, this.#firstMs));
    this.#tries = Math.min(this.#tries + 1, MAX_DOUBLINGS);
    this.#timer = setTimeout(() => void this.#attempt().catch(() => this.plan()), pause);
    this.#timer.unref();
  }

  /** Schedules the next attempt with the shortest pause, unless that is its pause already. */
  hasten(): void {
    if (this.#tries === 1) return;
    this.#tries = 0;
    this.plan();
  }

  /** Starts over with the shortest pause. Call it after a success. */
  reset(): void {
    clearTimeout(this.#timer);
    this.#tries = 0;
  }

  stop(): void {
    this.#isStopped = true;
    clearTimeout(this.#timer);
  }
}

const MAX_PAUSE_MS = 10_000;
/** Keeps the exponent small enough for a finite pause. */
const MAX_DOUBLINGS = 30;
