/**
 * Queues the calls of `run` and `stream` per session. They wait in memory and not in the session's durable queue, where
 * a call would outlive its caller.
 *
 * Invariant: at most one call of a session has the turn; the others get it in order of arrival, but interrupting calls
 * come first. Empty queues are removed.
 */
import { LoomError } from "../protocol/index.ts";
import type { RunRequest } from "../engine/index.ts";

export interface CallQueueRequest {
  readonly sessionId: string;
  readonly runId: string;
  readonly whenBusy: RunRequest["whenBusy"];
  /** Called when another call wants the turn of this one. */
  onInterrupt(): void;
}

export interface QueuedCall {
  readonly turn: Promise<void>;
  /** Leaves the queue, with or without having had the turn. Repeated calls do nothing. */
  leave(): void;
}

interface CallQueueEntry extends CallQueueRequest {
  readonly turn: PromiseWithResolvers<void>;
}

export class CallQueues {
  /** By session; the first call has the turn. */
  readonly #queues = new Map<string, CallQueueEntry[]>();

  /** Synchronous, so that the queue has the order of the calls. Throws `run_live`. */
  join(request: CallQueueRequest): QueuedCall {
    const { sessionId, whenBusy } = request;
    const queue = this.#queues.get(sessionId) ?? [];
    const [first] = queue;
    if (first !== undefined && whenBusy === "reject")
      throw new LoomError("run_live", "Another run is live", { live_run_id: first.runId });
    const waiting = { ...request, turn: Promise.withResolvers<void>() };
    const behind = queue.findIndex(({ whenBusy: how }, index) => index > 0 && how !== "interrupt");
    queue.splice(whenBusy === "interrupt" && behind > 0 ? behind : queue.length, 0, waiting);
    this.#queues.set(sessionId, queue);
    if (first === undefined) waiting.turn.resolve();
    else if (whenBusy === "interrupt") first.onInterrupt();
    return { turn: waiting.turn.promise, leave: () => this.#leave(queue, waiting) };
  }

  #leave(queue: CallQueueEntry[], waiting: CallQueueEntry): void {
    const index = queue.indexOf(waiting);
    if (index < 0) return;
    queue.splice(index, 1);
    if (index > 0) return;
    const [first, second] = queue;
    if (first === undefined) {
      this.#queues.delete(waiting.sessionId);
      return;
    }
    first.turn.resolve();
    if (second?.whenBusy === "interrupt") first.onInterrupt();
  }
}
