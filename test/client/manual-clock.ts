/** A clock that only advances when the test says so. */
import { setImmediate } from "node:timers/promises";
import type { Clock } from "../../src/client/connection/clock.ts";

interface Timer {
  readonly due: number;
  readonly callback: () => void;
}

export class ManualClock implements Clock {
  /** The result of `random`. */
  chance = 0.5;
  /** Every requested delay. */
  readonly pauses: number[] = [];
  readonly #timers = new Set<Timer>();
  #now = 1000;

  get timerCount(): number {
    return this.#timers.size;
  }

  now(): number {
    return this.#now;
  }

  random(): number {
    return this.chance;
  }

  setTimeout(callback: () => void, ms: number): Timer {
    const timer = { due: this.#now + ms, callback };
    this.pauses.push(ms);
    this.#timers.add(timer);
    return timer;
  }

  clearTimeout(timer: unknown): void {
    this.#timers.delete(timer as Timer);
  }

  /** Advances the time, and runs each due timer and everything it causes before the next. */
  async advance(ms: number): Promise<void> {
    const end = this.#now + ms;
    await setImmediate();
    for (;;) {
      const [next] = [...this.#timers].filter(({ due }) => due <= end).sort((a, b) => a.due - b.due);
      if (next === undefined) break;
      this.#now = Math.max(this.#now, next.due);
      this.#timers.delete(next);
      next.callback();
      await setImmediate();
    }
    this.#now = end;
  }

  /** Advances to the next timer. */
  async advanceToNext(): Promise<void> {
    await setImmediate();
    const due = Math.min(...[...this.#timers].map((timer) => timer.due));
    if (Number.isFinite(due)) await this.advance(due - this.#now);
  }
}
