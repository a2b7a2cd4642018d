/**
 * Calls of `run` and `stream` on one session take turns. They wait here, in memory, and not in the session's queue: what
 * waits there outlives its caller, and would be answered with nobody to hear it. It knows neither sessions nor runs.
 *
 * Invariant: of a session at most one call has the turn, and those behind it are given it in the order they came; calls
 * that interrupt come before those that wait. A line nobody stands in is forgotten.
 */
import { LoomError } from "../protocol/index.ts";
import type { RunRequest } from "../engine/index.ts";

export interface LineRequest {
  readonly sessionId: string;
  readonly runId: string;
  readonly whenBusy: RunRequest["whenBusy"];
  /** Somebody wants the turn this call has. */
  onInterrupt(): void;
}

export interface Place {
  readonly turn: Promise<void>;
  /** Whether it had its turn or not; more than once does nothing. */
  leave(): void;
}

interface Standing extends LineRequest {
  readonly turn: PromiseWithResolvers<void>;
}

export class CallLines {
  /** By session; the first has the turn. */
  readonly #lines = new Map<string, Standing[]>();

  /** At once, so that the order is that of the calls. Throws `run_live`. */
  join(request: LineRequest): Place {
    const { sessionId, whenBusy } = request;
    const line = this.#lines.get(sessionId) ?? [];
    const [first] = line;
    if (first !== undefined && whenBusy === "reject")
      throw new LoomError("run_live", "another run is live", { live_run_id: first.runId });
    const standing = { ...request, turn: Promise.withResolvers<void>() };
    const behind = line.findIndex(({ whenBusy: how }, index) => index > 0 && how !== "interrupt");
    line.splice(whenBusy === "interrupt" && behind > 0 ? behind : line.length, 0, standing);
    this.#lines.set(sessionId, line);
    if (first === undefined) standing.turn.resolve();
    else if (whenBusy === "interrupt") first.onInterrupt();
    return { turn: standing.turn.promise, leave: () => this.#leave(line, standing) };
  }

  #leave(line: Standing[], standing: Standing): void {
    const index = line.indexOf(standing);
    if (index < 0) return;
    line.splice(index, 1);
    if (index > 0) return;
    const [first, second] = line;
    if (first === undefined) {
      this.#lines.delete(standing.sessionId);
      return;
    }
    first.turn.resolve();
    if (second?.whenBusy === "interrupt") first.onInterrupt();
  }
}
