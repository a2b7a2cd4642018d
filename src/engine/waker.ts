/**
 * Runs a task when there may be something to do. It runs at once, but at most once per pause for a series of hints. A
 * hint that arrives while the task waits for its turn needs no further run.
 */
export class Waker {
  readonly #pauseMs: number;
  readonly #task: () => Promise<void>;
  #timer: NodeJS.Timeout | undefined;
  #isWaiting = false;
  #isStopped = false;
  #hasFailed = false;
  #lastTime = 0;

  /** `task` must call `begin` when it starts its check. After a rejection `hasFailed` is true. */
  constructor(pauseMs: number, task: () => Promise<void>) {
    this.#pauseMs = pauseMs;
    this.#task = task;
  }

  /** Runs the task now, or when the pause since the last run is over. */
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

  /** Runs the task now. */
  wake(): void {
    if (this.#isStopped || this.#isWaiting) return;
    this.#isWaiting = true;
    const finish = (hasFailed: boolean): void => {
      this.#isWaiting = false;
      this.#hasFailed = hasFailed;
    };
    void this.#task().then(
      () => finish(false),
      () => finish(true),
    );
  }

  /** Whether the last run of the task failed, so that it must be repeated. */
  get hasFailed(): boolean {
    return this.#hasFailed;
  }

  /** Marks the start of a check: later hints need another one. */
  begin(): void {
    this.#isWaiting = false;
    this.#lastTime = performance.now();
  }

  stop(): void {
    this.#isStopped = true;
    clearTimeout(this.#timer);
  }
}
