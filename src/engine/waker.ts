/**
 * Calls a task when there may be something to do: at once, but not for every one of many hints in a row. A hint that
 * comes while the task waits for its turn is part of it.
 */
export class Waker {
  readonly #pauseMs: number;
  readonly #task: () => Promise<void>;
  #timer: NodeJS.Timeout | undefined;
  #isWaiting = false;
  #isStopped = false;
  #lastTime = 0;

  /** `task` calls `begin` when its turn has come; its failures are its own. */
  constructor(pauseMs: number, task: () => Promise<void>) {
    this.#pauseMs = pauseMs;
    this.#task = task;
  }

  /** There may be something: a look is taken now, or when the pause since the last is over. */
  hint(): void {
    if (this.#isStopped || this.#isWaiting || this.#timer !== undefined) return;
    const pause = this.#lastTime + this.#pauseMs - performance.now();
    if (this.#lastTime === 0 || pause <= 0) {
      this.wake();
      return;
    }
    this.#timer = setTimeout(() => {
      this.#timer = undefined;
      this.wake();
    }, pause);
  }

  /** There is something. */
  wake(): void {
    if (this.#isStopped || this.#isWaiting) return;
    this.#isWaiting = true;
    void this.#task().then(
      () => (this.#isWaiting = false),
      () => (this.#isWaiting = false),
    );
  }

  /** What comes from now on is not seen by this look, and needs another. */
  begin(): void {
    this.#isWaiting = false;
    this.#lastTime = performance.now();
  }

  stop(): void {
    this.#isStopped = true;
    clearTimeout(this.#timer);
  }
}
