/** Serializes the commands of each session within one process, so that they are written in the order they arrived. */
import type { Log } from "../../log/index.ts";
import { KeyedQueue } from "../../protocol/keyed-queue.ts";

/** One queue per log, shared by all transports, so that the commands of a session have one order. */
const queues = new WeakMap<Log, KeyedQueue>();

function queueOf(log: Log): KeyedQueue {
  const queue = queues.get(log) ?? new KeyedQueue();
  queues.set(log, queue);
  return queue;
}

/** Resolves when every command received so far for the session is in the log or rejected. */
export function awaitSubmitted(log: Log, session: string): Promise<void> {
  return queueOf(log).settled(session);
}

/**
 * Runs `work` when every command received so far for the session is in the log. Later commands wait until `work` is
 * done, so it must not wait for a run.
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
