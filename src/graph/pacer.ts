/**
 * Keeps a graph from taking the process for itself, and from running ahead of the log: steps may be shorter than a
 * microsecond, and a chain of promises lets nobody else in.
 */
import { performance } from "node:perf_hooks";
import { setImmediate } from "node:timers/promises";
import type { GraphHost } from "./graph-host.ts";

/** How long a graph may go on before others have their turn. */
const MAX_TURN_MS = 10;
/** Steps between two looks at the clock. */
const STEPS_PER_LOOK = 16;

export class Pacer {
  #steps = 0;
  #turnBegan = performance.now();

  /** What to wait for before the next step; undefined when there is nothing. */
  pause(host: GraphHost): Promise<void> | undefined {
    if (host.isBehind) return host.ready();
    if (++this.#steps % STEPS_PER_LOOK !== 0 || performance.now() - this.#turnBegan < MAX_TURN_MS) return undefined;
    return this.#yield();
  }

  async #yield(): Promise<void> {
    await setImmediate();
    this.#turnBegan = performance.now();
  }
}
