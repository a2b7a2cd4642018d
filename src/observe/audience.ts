/**
 * The observers of an observation, behind a shield: whatever one of them throws is told once and reaches neither the run
 * nor the others. It knows no log; it is told records, in order, by whoever has them.
 */
import type { StampedRecord } from "../protocol/index.ts";
import type { ObservedRun, Observer, RunObserver } from "./observer.ts";

/** One run as all observers see it. Never throws. */
export interface RunAudience {
  take(record: StampedRecord, isPast: boolean): void;
  close(isLeft: boolean): void;
}

interface Seat {
  readonly observer: Observer;
  readonly ignores: ReadonlySet<string> | undefined;
  readonly run: RunObserver;
}

export class Audience {
  readonly observers: readonly Observer[];
  readonly #onError: ((error: unknown) => void) | undefined;
  /** Those who have failed: an observer that fails with every record is told of once. */
  readonly #failed = new WeakSet<Observer>();

  constructor(observers: readonly Observer[], onError?: (error: unknown) => void) {
    // One that was given twice is one.
    this.observers = [...new Set(observers)];
    this.#onError = onError;
  }

  expectRun(run: ObservedRun & { readonly runId: string }): void {
    for (const observer of this.observers) {
      try {
        observer.expectRun?.(run);
      } catch (error) {
        this.#fail(observer, error);
      }
    }
  }

  openRun(run: ObservedRun): RunAudience {
    const seats = this.observers.flatMap((observer) => this.#seat(observer, run));
    return {
      take: (record, isPast) => {
        const { type } = record.event;
        for (const seat of seats) {
          if (seat.ignores?.has(type) === true) continue;
          try {
            seat.run.take(record, isPast);
          } catch (error) {
            this.#fail(seat.observer, error);
          }
        }
      },
      close: (isLeft) => {
        for (const seat of seats) {
          try {
            seat.run.close(isLeft);
          } catch (error) {
            this.#fail(seat.observer, error);
          }
        }
      },
    };
  }

  report(error: unknown): void {
    try {
      this.#onError?.(error);
    } catch {
      // Whoever is told of errors has none of its own to tell.
    }
  }

  #seat(observer: Observer, run: ObservedRun): readonly Seat[] {
    try {
      return [{ observer, ignores: observer.ignores, run: observer.openRun(run) }];
    } catch (error) {
      this.#fail(observer, error);
      return [];
    }
  }

  #fail(observer: Observer, error: unknown): void {
    if (this.#failed.has(observer)) return;
    this.#failed.add(observer);
    this.report(error);
  }
}
