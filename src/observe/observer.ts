/**
 * The contract of an observer: somebody who is told of runs as they become durable, and never disturbs them. Callbacks,
 * metrics, traces and logs are observers; each is a fold over the records of one run, so that a live run and a recorded
 * one give the same. It knows no engine: whoever has records can feed it.
 *
 * What an observer throws is reported and forgotten. It is called where records are committed, so it must be quick: what
 * may take time is put into a queue of its own.
 */
import type { StampedRecord } from "../protocol/index.ts";

export interface ObservedRun {
  readonly sessionId: string;
  /** Undefined for the records that belong to no run. */
  readonly runId: string | undefined;
}

export interface Observer {
  /** For messages about it. */
  readonly name: string;
  /** Event types it is not shown: those that come by the thousand and tell it nothing. */
  readonly ignores?: ReadonlySet<string>;
  /** A run is about to be started here, on behalf of whoever calls: called in the caller's asynchronous context. */
  expectRun?(run: ObservedRun & { readonly runId: string }): void;
  /** The first record of a run has come, or the first that this process writes of it. */
  openRun(run: ObservedRun): RunObserver;
}

export interface RunObserver {
  /**
   * In order, each once. `isPast` is true for what was written before this process took the run over: it was told then,
   * and is shown again only so that what follows can be understood.
   */
  take(record: StampedRecord, isPast: boolean): void;
  /** The last call. `isLeft`: the run is not over, but this process writes it no more (it waits for the user, say). */
  close(isLeft: boolean): void;
}

/** For a run that an observer has nothing to say of. */
export const INERT: RunObserver = { take: () => undefined, close: () => undefined };

/** What a run is found by in a map. */
export function keyOfRun({ sessionId, runId }: ObservedRun): string {
  return JSON.stringify([sessionId, runId]);
}
