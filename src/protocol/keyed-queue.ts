/** Runs asynchronous work in order: for each key, one after another. */
export class KeyedQueue {
  /** The end of the last work of each key. Work that has ended leaves nothing behind. */
  readonly #ends = new Map<string, Promise<void>>();

  /** Runs `work` after all earlier work of the key, even if that failed. */
  run<R>(key: string, work: () => Promise<R>): Promise<R> {
    const done = this.settled(key).then(work);
    const end = done.then(
      () => undefined,
      () => undefined,
    );
    this.#ends.set(key, end);
    void end.then(() => {
      if (this.#ends.get(key) === end) this.#ends.delete(key);
    });
    return done;
  }

  /** Resolves when all work of the key that was queued so far is done. */
  settled(key: string): Promise<void> {
    return this.#ends.get(key) ?? Promise.resolve();
  }

  /** Resolves when all work that was queued so far is done. */
  async idle(): Promise<void> {
    await Promise.all(this.#ends.values());
  }
}
