/**
 * Tracks in which runs the current code executes. A tool or an `approve` function that calls its agent again is inside
 * a run, and a call that waits for that run would wait for itself.
 */
import { AsyncLocalStorage } from "node:async_hooks";

interface ContextFrame {
  readonly sessionId: string;
  readonly runId: string;
  readonly outer: ContextFrame | undefined;
}

/** Runs a function in the async context of a run and its caller. */
export type ContextRunner = <T>(work: () => T) => T;

export class CallContext {
  readonly #storage = new AsyncLocalStorage<ContextFrame>();

  enter({ sessionId, runId }: Pick<ContextFrame, "sessionId" | "runId">): ContextRunner {
    const frame = { sessionId, runId, outer: this.#storage.getStore() };
    const snapshot = this.#storage.run(frame, () => AsyncLocalStorage.snapshot());
    return (work) => snapshot(work);
  }

  /** Finds an active run of this session that the current code belongs to. Ended runs are ignored. */
  findRun(sessionId: string, isActive: (runId: string) => boolean): string | undefined {
    for (let frame = this.#storage.getStore(); frame !== undefined; frame = frame.outer)
      if (frame.sessionId === sessionId && isActive(frame.runId)) return frame.runId;
    return undefined;
  }
}
