/**
 * Tries something again after a failure, with pauses that double, and a last time. It keeps no process alive.
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

  /** Plans the next try; one that fails plans another. */
  plan(): void {
    clearTimeout(this.#timer);
    if (this.#isStopped || this.#tries >= MAX_TRIES) return;
    const pause = Math.min(this.#firstMs * 2 ** this.#tries++, MAX_PAUSE_MS);
    this.#timer = setTimeout(() => void this.#attempt().catch(() => this.plan()), pause);
    this.#timer.unref();
  }

  /** It worked: the next failure begins anew. */
  reset(): void {
    clearTimeout(this.#timer);
    this.#tries = 0;
  }

  stop(): void {
    this.#isStopped = true;
    clearTimeout(this.#timer);
  }
}

const MAX_TRIES = 20;
const MAX_PAUSE_MS = 10_000;
