/** Serializes the commands of each session within one process, so that they are written in the order they arrived. */
import type { Log } from "../../log/index.ts";

/** A queue of work per session. Keeps no state for a session without waiting work. */
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

/** One queue per log, shared by all transports, so that the commands of a session have one order. */
const queues = new WeakMap<Log, CommandQueue>();

function queueOf(log: Log): CommandQueue {
  const queue = queues.get(log) ?? new CommandQueue();
  queues.set(log, queue);
  return queue;
}

/** Resolves when every command received so far for the session is in the log or rejected. */
export function awaitSubmitted(log: Log, session: string): Promise<void> {
  return queueOf(log).settled(session);
}

/**
 * Runs `work` when every command received so far for the session is in the log. Later commands wait until `work` is
 * done.
 */
export function runInSessionQueue<R>(log: Log, session: string, work: () => Promise<R>): Promise<R> {
  return queueOf(log).run(session, work);
}

/**
 * Runs `work`, which chooses how a session continues and sends the message, after all earlier work of this kind for the
 * session. Two clients that continue the same response then see each other. `work` may send commands to the session.
 */
export function startInTurn<R>(log: Log, session: string, work: () => Promise<R>): Promise<R> {
  // The ID of a session contains no NUL, so this is not the queue of its commands.
  return queueOf(log).run(`\0${session}`, work);
}
