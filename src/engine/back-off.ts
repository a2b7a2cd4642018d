/**
 * Tries something again after a failure, with pauses that double up to a limit, until it works or is stopped. It keeps
 * no process alive.
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
    if (this.#isStopped) return;
    const pause = Math.min(this.#firstMs * 2 ** this.#tries, Math.max(MAX_PAUSE_MS, this.#firstMs));
    this.#tries = Math.min(this.#tries + 1, MAX_DOUBLINGS);
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

const MAX_PAUSE_MS = 10_000;
/** So that the pause stays a number. */
const MAX_DOUBLINGS = 30;
