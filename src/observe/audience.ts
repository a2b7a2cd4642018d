/**
 * The observers of an observation, behind a shield: whatever one of them throws is told once and reaches neither the run
 * nor the others. It is told records, in order, by whoever has them.
 *
 * Invariant: an observer is shown a live run by one source at a time, in the whole process, by however many it is looked
 * at; a source that knows more than the one before takes its place.
 */
import type { Log } from "../log/log.ts";
import type { StampedRecord } from "../protocol/index.ts";
import { INERT, keyOfRun, type ObservedRun, type Observer, type RunObserver } from "./observer.ts";
import { catchLater, shield } from "./shield.ts";

/** One run as all observers see it. Never throws. */
export interface RunAudience {
  take(record: StampedRecord, isPast: boolean): void;
  close(isLeft: boolean): void;
}

/** Where a live run comes from, and what of it has come so far: ids of records. */
export interface LiveSource {
  readonly log: Log;
  readonly firstMet: number;
  lastMet: number;
}

interface Seat {
  readonly observer: Observer;
  readonly ignores: ReadonlySet<string> | undefined;
  readonly run: RunObserver;
  readonly source: LiveSource | undefined;
  readonly fail: (error: unknown) => void;
  isClosed: boolean;
}

/** Who is shown what, by run. A seat is given up when its run is closed. */
const SEATS = new WeakMap<Observer, WeakMap<Log, Map<string, Seat>>>();

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
    for (const observer of this.observers)
      shield(
        () => observer.expectRun?.(run),
        (error) => this.#fail(observer, error),
      );
  }

  /** Without a source it is a recorded run: it is shown as often as somebody likes. */
  openRun(run: ObservedRun, source?: LiveSource): RunAudience {
    const seats = this.observers.flatMap((observer) => this.#seat(observer, run, source));
    return {
      take: (record, isPast) => {
        const { type } = record.event;
        for (const { run: shown, ignores, fail, isClosed } of seats) {
          if (isClosed) continue;
          try {
            if (ignores?.has(type) !== true) catchLater(shown.take(record, isPast), fail);
          } catch (error) {
            fail(error);
          }
        }
      },
      close: (isLeft) => {
        for (const seat of seats) {
          closeSeat(seat, isLeft);
          // Others who are told of the same commit are told before this: they must find it taken.
          if (source !== undefined) queueMicrotask(() => clear(seat, run));
        }
      },
    };
  }

  /** Whether nobody here would see more of the run by another source. */
  isShown(log: Log, run: ObservedRun): boolean {
    return this.observers.every((observer) => SEATS.get(observer)?.get(log)?.has(keyOfRun(run)) === true);
  }

  report(error: unknown): void {
    shield(
      () => this.#onError?.(error),
      () => undefined,
    );
  }

  #seat(observer: Observer, run: ObservedRun, source: LiveSource | undefined): readonly Seat[] {
    if (source !== undefined && isTaken(observer, run, source)) return [];
    const fail = (error: unknown): void => this.#fail(observer, error);
    const ignores = shield(() => observer.ignores, fail);
    const shown = shield(() => observer.openRun(run), fail);
    // One that does not want to see it keeps its seat: it is not asked again.
    const seat: Seat = { observer, ignores, run: shown ?? INERT, source, fail, isClosed: false };
    if (source !== undefined) seatsOf(observer, source.log).set(keyOfRun(run), seat);
    return [seat];
  }

  #fail(observer: Observer, error: unknown): void {
    if (this.#failed.has(observer)) return;
    this.#failed.add(observer);
    this.report(error);
  }
}

/** What has not come by the other source shows that it has come to an end without a word: a session was taken over. */
function isTaken(observer: Observer, run: ObservedRun, { log, lastMet }: LiveSource): boolean {
  const seat = seatsOf(observer, log).get(keyOfRun(run));
  if (seat?.source === undefined) return false;
  if (seat.source.firstMet <= lastMet && lastMet <= seat.source.lastMet) return true;
  clear(seat, run);
  closeSeat(seat, true);
  return false;
}

function clear(seat: Seat, run: ObservedRun): void {
  const seats = seat.source === undefined ? undefined : seatsOf(seat.observer, seat.source.log);
  if (seats?.get(keyOfRun(run)) === seat) seats.delete(keyOfRun(run));
}

function closeSeat(seat: Seat, isLeft: boolean): void {
  if (seat.isClosed) return;
  seat.isClosed = true;
  shield(() => seat.run.close(isLeft), seat.fail);
}

function seatsOf(observer: Observer, log: Log): Map<string, Seat> {
  let logs = SEATS.get(observer);
  if (logs === undefined) SEATS.set(observer, (logs = new WeakMap<Log, Map<string, Seat>>()));
  let seats = logs.get(log);
  if (seats === undefined) logs.set(log, (seats = new Map<string, Seat>()));
  return seats;
}
