/**
 * Calls a group of observers and isolates them: an error of one observer is reported once and reaches neither the run
 * nor the other observers. Records must be passed in order.
 *
 * Invariant: in the whole process an observer receives a live run from one source at a time. A source that has newer
 * records replaces the one before.
 */
import type { Log } from "../log/log.ts";
import type { StampedRecord } from "../protocol/index.ts";
import { INERT, keyOfRun, type ObservedRun, type Observer, type RunObserver } from "./observer.ts";
import { catchRejection, shield } from "./shield.ts";

/** Passes the records of one run to all observers. Never throws. */
export interface RunObservers {
  take(record: StampedRecord, isPast: boolean): void;
  close(isLeft: boolean): void;
}

/** The log a live run comes from, and the IDs of the first and last records received. */
export interface LiveSource {
  readonly log: Log;
  readonly firstSeen: number;
  lastSeen: number;
}

/** An observer that receives one run. */
interface ObserverSlot {
  readonly observer: Observer;
  readonly ignores: ReadonlySet<string> | undefined;
  readonly run: RunObserver;
  readonly source: LiveSource | undefined;
  readonly fail: (error: unknown) => void;
  isClosed: boolean;
}

/** The slot of each observer, by log and run. A slot is removed after its run is closed. */
const SLOTS = new WeakMap<Observer, WeakMap<Log, Map<string, ObserverSlot>>>();

export class ObserverGroup {
  readonly observers: readonly Observer[];
  readonly #onError: ((error: unknown) => void) | undefined;
  /** Observers that have failed. Each is reported once. */
  readonly #failed = new WeakSet<Observer>();

  constructor(observers: readonly Observer[], onError?: (error: unknown) => void) {
    // Ignore duplicates.
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

  /** Starts observing a run. Without a source it is a recorded run, which can be observed any number of times. */
  openRun(run: ObservedRun, source?: LiveSource): RunObservers {
    const slots = this.observers.flatMap((observer) => this.#openSlot(observer, run, source));
    return {
      take: (record, isPast) => {
        const { type } = record.event;
        for (const { run: shown, ignores, fail, isClosed } of slots) {
          if (isClosed) continue;
          try {
            if (ignores?.has(type) !== true) catchRejection(shown.take(record, isPast), fail);
          } catch (error) {
            fail(error);
          }
        }
      },
      close: (isLeft) => {
        for (const slot of slots) {
          closeSlot(slot, isLeft);
          // Other sources of the same commit run before this microtask and must find the slot in use.
          if (source !== undefined) queueMicrotask(() => releaseSlot(slot, run));
        }
      },
    };
  }

  /** Whether all observers already receive this run from another source. */
  isObserved(log: Log, run: ObservedRun): boolean {
    return this.observers.every((observer) => SLOTS.get(observer)?.get(log)?.has(keyOfRun(run)) === true);
  }

  /** Passes an error to `onError`, whose own errors are ignored. */
  report(error: unknown): void {
    shield(
      () => this.#onError?.(error),
      () => undefined,
    );
  }

  #openSlot(observer: Observer, run: ObservedRun, source: LiveSource | undefined): readonly ObserverSlot[] {
    if (source !== undefined && isCoveredElsewhere(observer, run, source)) return [];
    const fail = (error: unknown): void => this.#fail(observer, error);
    const ignores = shield(() => observer.ignores, fail);
    const shown = shield(() => observer.openRun(run), fail);
    // An observer that failed keeps its slot, so that it is not opened again.
    const slot: ObserverSlot = { observer, ignores, run: shown ?? INERT, source, fail, isClosed: false };
    if (source !== undefined) slotsOf(observer, source.log).set(keyOfRun(run), slot);
    return [slot];
  }

  #fail(observer: Observer, error: unknown): void {
    if (this.#failed.has(observer)) return;
    this.#failed.add(observer);
    this.report(error);
  }
}

/**
 * Whether another source already provides this run. If that source has not received the latest record, it ended without
 * notice (another process took over the session), and its slot is released.
 */
function isCoveredElsewhere(observer: Observer, run: ObservedRun, { log, lastSeen }: LiveSource): boolean {
  const slot = slotsOf(observer, log).get(keyOfRun(run));
  if (slot?.source === undefined) return false;
  if (slot.source.firstSeen <= lastSeen && lastSeen <= slot.source.lastSeen) return true;
  releaseSlot(slot, run);
  closeSlot(slot, true);
  return false;
}

function releaseSlot(slot: ObserverSlot, run: ObservedRun): void {
  const slots = slot.source === undefined ? undefined : slotsOf(slot.observer, slot.source.log);
  if (slots?.get(keyOfRun(run)) === slot) slots.delete(keyOfRun(run));
}

function closeSlot(slot: ObserverSlot, isLeft: boolean): void {
  if (slot.isClosed) return;
  slot.isClosed = true;
  shield(() => slot.run.close(isLeft), slot.fail);
}

function slotsOf(observer: Observer, log: Log): Map<string, ObserverSlot> {
  let logs = SLOTS.get(observer);
  if (logs === undefined) SLOTS.set(observer, (logs = new WeakMap<Log, Map<string, ObserverSlot>>()));
  let slots = logs.get(log);
  if (slots === undefined) logs.set(log, (slots = new Map<string, ObserverSlot>()));
  return slots;
}
