/**
 * Restores the full graph states of all runs in a stream from deltas. Holds one fold per live run, up to a limit; for
 * an evicted run no state is returned.
 */
import { BoundedMap } from "./bounded-map.ts";
import { runKey } from "./match-run.ts";
import { type AnyEvent, type EventRecord, isTerminal } from "./record.ts";
import { isStateEvent, type SavedStateFold, StateFold } from "./state-fold.ts";

const MAX_LIVE_RUNS = 1000;

/** The state of each live run by its key, the oldest first: plain data that can be stored. */
export type SavedRunStates = readonly (readonly [string, SavedStateFold])[];

/** Restores the graph states of all runs in a stream. */
export class RunStates {
  readonly #folds = new BoundedMap<StateFold>(MAX_LIVE_RUNS);

  /** `saved` is the result of `save`. */
  constructor(saved: SavedRunStates = []) {
    for (const [key, fold] of saved) this.#folds.set(key, StateFold.restore(fold));
  }

  /** Returns the states of all live runs. Clone or serialize them before the next record. */
  save(): SavedRunStates {
    return Array.from(this.#folds.keys(), (key) => [key, (this.#folds.get(key) as StateFold).save()]);
  }

  /** Adds the next record. Returns false if its state cannot be restored, because an earlier state is unknown. */
  add(record: EventRecord): boolean {
    const { event } = record;
    if (isStateEvent(event)) {
      const fold = this.#folds.getOrCreate(keyOf(record), () => new StateFold());
      fold.add(event);
      return fold.hasFullState(event);
    }
    if (isTerminal(event)) this.#folds.delete(keyOf(record));
    return true;
  }

  /** Returns the event added last, with its full state; see `StateFold`. */
  withFullState(record: EventRecord): AnyEvent | undefined {
    const { event } = record;
    return isStateEvent(event) ? this.#folds.get(keyOf(record))?.withFullState(event) : event;
  }
}

function keyOf({ envelope }: EventRecord): string {
  return runKey(envelope.session_id, envelope.run_id);
}
