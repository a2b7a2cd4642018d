/**
 * Where the commands of one process meet, whichever door they came by: each session's are written down in the order they
 * came. It knows no door and no kind of command, and keeps nothing of a session that has no line.
 */
export class CommandDesk {
  /** The last in line of each session that has a line. */
  readonly #lines = new Map<string, Promise<void>>();

  /** Runs `work` when all that came before it for this session is through. Nobody may wait in there for a run. */
  inTurn<R>(session: string, work: () => Promise<R>): Promise<R> {
    const done = (this.#lines.get(session) ?? Promise.resolve()).then(work);
    const line = done.then(
      () => undefined,
      () => undefined,
    );
    this.#lines.set(session, line);
    void line.then(() => {
      if (this.#lines.get(session) === line) this.#lines.delete(session);
    });
    return done;
  }

  /** Resolves when all that came so far for this session is through. Takes no place in the line. */
  awaitLine(session: string): Promise<void> {
    return this.#lines.get(session) ?? Promise.resolve();
  }
}
