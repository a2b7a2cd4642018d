/**
 * The encoder of a dialect that is not mechanical: a map of per-run folds, and a table with a row per event type.
 * A fold is made by the first record of its run and dropped with the last; a record of no run gets a fold for itself.
 */
import {
  BoundedMap,
  type EventType,
  isKnownEvent,
  isTerminal,
  mayLackRun,
  type StampedRecord,
} from "../protocol/index.ts";
import type { Step, Table } from "./ledger.ts";

/** Runs that can be live at once in one encoder; beyond that the oldest is forgotten. */
const MAX_LIVE_RUNS = 1000;
const NOTHING: readonly never[] = [];

/** An encoder whose frames may still be objects. */
export interface FoldEncoder<Out> {
  encode(record: StampedRecord): readonly Out[];
  readonly held: number;
  readonly dropped: number;
}

export interface FoldHooks<Fold, Out = string> {
  readonly table: Table<Fold, Out>;
  create(record: StampedRecord): Fold;
  /** Frames that must precede the record's own: a run whose run_start was never seen must be opened all the same. */
  before?(fold: Fold, record: StampedRecord): readonly Out[];
  /** Frames that follow the record's own. */
  after?(fold: Fold, record: StampedRecord): readonly Out[];
  /** The frames of a record that belongs to no run; none when absent. */
  encodeRunless?(record: StampedRecord): readonly Out[];
  readonly held?: () => number;
}

export function createFoldEncoder<Fold, Out = string>(hooks: FoldHooks<Fold, Out>): FoldEncoder<Out> {
  const folds = new BoundedMap<Fold>(MAX_LIVE_RUNS);
  const last = new BoundedMap<string>(MAX_LIVE_RUNS);
  let dropped = 0;
  return {
    get dropped() {
      return dropped;
    },
    get held() {
      return hooks.held?.() ?? 0;
    },
    encode(record) {
      const { envelope, event } = record;
      const session = envelope.session_id;
      let run = envelope.run_id;
      if (run === undefined) {
        // A foreign stream may name no run at all: its frames belong to the run without a name. Where runs are named,
        // a record without one belongs to the session alone.
        if (last.get(session) !== "" && mayLackRun(event)) {
          if (hooks.encodeRunless !== undefined) return hooks.encodeRunless(record);
          if (hooks.table[event.type as EventType].fate !== "omitted") dropped++;
          return NOTHING;
        }
        // An event nobody here knows opens no run.
        if (last.get(session) !== "" && !isKnownEvent(event)) return NOTHING;
        run = "";
      }
      const key = `${session.length}:${session}${run}`;
      if (event.type === "run_start") folds.delete(key);
      if (folds.get(key) === undefined) last.set(session, run);
      const fold = folds.getOrCreate(key, () => hooks.create(record));
      const opening = hooks.before?.(fold, record) ?? NOTHING;
      let frames: readonly Out[] = NOTHING;
      if (isKnownEvent(event)) {
        const row = hooks.table[event.type] as { readonly encode?: Step<Fold, EventType, Out> };
        frames = row.encode?.(fold, event, record) ?? NOTHING;
      }
      const closing = hooks.after?.(fold, record) ?? NOTHING;
      if (isTerminal(event)) {
        folds.delete(key);
        if (last.get(session) === run) last.delete(session);
      }
      return opening.length + closing.length === 0 ? frames : [...opening, ...frames, ...closing];
    },
  };
}
