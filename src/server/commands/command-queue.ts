/**
 * Serializes the commands of each session within one process, so that they are written in the order they arrived. Keeps
 * no state for a session without waiting commands.
 */
export class CommandQueue {
  /** Promise of the last queued work of each session. */
  readonly #tails = new Map<string, Promise<void>>();

  /** Runs `work` after all earlier work of the session, even if that failed. `work` must not wait for a run. */
  run<R>(session: string, work: () => Promise<R>): Promise<R> {
    const done = (this.#tails.get(session) ?? Promise.resolve()).then(work);
    const line = done.then(
      () => undefined,
      () => undefined,
    );
    this.#tails.set(session, line);
    void line.then(() => {
      if (this.#tails.get(session) === line) this.#tails.delete(session);
    });
    return done;
  }

  /** Resolves when all work queued so far for the session is done. */
  settled(session: string): Promise<void> {
    return this.#tails.get(session) ?? Promise.resolve();
  }
}
