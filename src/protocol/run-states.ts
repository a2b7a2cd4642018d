/**
 * The graph states of a stream's runs: whatever is held as deltas, whole again. It holds one fold per live run, up to a
 * limit; of a run that was forgotten no state is known any more, and none is made up.
 */
import { BoundedMap } from "./bounded-map.ts";
import { type AnyEvent, type EventRecord, isTerminal } from "./record.ts";
import { isStateEvent, StateFold } from "./state-fold.ts";

const MAX_LIVE_RUNS = 1000;

export class RunStates {
  readonly #folds = new BoundedMap<StateFold>(MAX_LIVE_RUNS);

  /** Takes in the next record. False where its state cannot be shown, because the one before is not known. */
  add(record: EventRecord): boolean {
    const { event } = record;
    if (isStateEvent(event)) {
      const fold = this.#folds.getOrCreate(keyOf(record), () => new StateFold());
      fold.add(event);
      return fold.knows(event);
    }
    if (isTerminal(event)) this.#folds.delete(keyOf(record));
    return true;
  }

  /** The event that was added last, with its state whole; see `StateFold`. */
  show(record: EventRecord): AnyEvent | undefined {
    const { event } = record;
    return isStateEvent(event) ? this.#folds.get(keyOf(record))?.show(event) : event;
  }
}

function keyOf({ envelope: { session_id = "", run_id = "" } }: EventRecord): string {
  return `${session_id.length}:${session_id}${run_id}`;
}
