/**
 * Which calls what is being done now belongs to: a tool, or somebody who is asked for consent, that calls the agent again
 * is inside of a run, and a call that waited for that run would wait for itself.
 */
import { AsyncLocalStorage } from "node:async_hooks";

interface Inside {
  readonly sessionId: string;
  readonly runId: string;
  readonly outer: Inside | undefined;
}

/** Does something in the context of a run, and of whoever asked for it. */
export type Within = <T>(work: () => T) => T;

export class CallContext {
  readonly #storage = new AsyncLocalStorage<Inside>();

  enter({ sessionId, runId }: Pick<Inside, "sessionId" | "runId">): Within {
    const inside = { sessionId, runId, outer: this.#storage.getStore() };
    const snapshot = this.#storage.run(inside, () => AsyncLocalStorage.snapshot());
    return (work) => snapshot(work);
  }

  /** A run of this session that waits for what is being done now. What a run has left behind when it ended is in none. */
  findRun(sessionId: string, isGoing: (runId: string) => boolean): string | undefined {
    for (let inside = this.#storage.getStore(); inside !== undefined; inside = inside.outer)
      if (inside.sessionId === sessionId && isGoing(inside.runId)) return inside.runId;
    return undefined;
  }
}
