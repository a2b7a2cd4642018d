/**
 * Makes a graph yield to the event loop and wait for a slow log. Steps can be shorter than a microsecond, and a chain
 * of promises alone would block the process.
 */
import { performance } from "node:perf_hooks";
import { setImmediate } from "node:timers/promises";
import type { GraphHost } from "./graph-host.ts";

/** Milliseconds that a graph may run before it yields to the event loop. */
const MAX_TURN_MS = 10;
/** Steps between two checks of the clock. */
const STEPS_PER_CHECK = 16;

export class Pacer {
  #steps = 0;
  #turnBegan = performance.now();

  /** Returns a promise to await before the next step, or undefined. */
  pause(host: GraphHost): Promise<void> | undefined {
    if (host.isBehind) return host.ready();
    if (++this.#steps % STEPS_PER_CHECK !== 0 || performance.now() - this.#turnBegan < MAX_TURN_MS) return undefined;
    return this.#yield();
  }

  async #yield(): Promise<void> {
    await setImmediate();
    this.#turnBegan = performance.now();
  }
}
