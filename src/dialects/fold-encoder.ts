/**
 * Encoder for dialects whose frames depend on earlier records: one fold per run, and a table with a row per event type.
 * A fold is created by the first record of its run and removed with the last. The `run_end` of a run that did not
 * complete waits for the `reply` of the run and is encoded in its place. Folds are saved as plain data: their classes have no private fields, and a
 * restored fold gets its methods back.
 */
import { type EventType, isKnownEvent, type StampedRecord } from "../protocol/index.ts";
import { BoundedMap } from "../protocol/bounded-map.ts";
import { runKey, sessionPrefix } from "../protocol/match-run.ts";
import { endsRun, isBeforeReply, opensNoRun } from "../protocol/record.ts";
import type { EventEncoder, LedgerTable } from "./ledger.ts";

/** Maximum number of live runs per encoder; beyond it the oldest is evicted. */
const MAX_LIVE_RUNS = 1000;
const NOTHING: readonly never[] = [];
/** Stands for the run ID of the records of a stream without run IDs. */
const UNNAMED = "";

/** An encoder that produces frames of type `Out`: strings, or objects to serialize. */
export interface FoldEncoder<Out> {
  encode(record: StampedRecord): readonly Out[];
  readonly held: number;
  readonly dropped: number;
  save(): unknown;
}

/** The state of a fold encoder: plain data that can be stored. */
export interface FoldState<Fold, Shared> {
  readonly folds: Map<string, Fold>;
  /** ID of the run of each session that started last, until it ends; `UNNAMED` if the stream has no run IDs. */
  readonly last: Map<string, string>;
  /** The end of runs that did not complete, until their reply. */
  readonly ends: Map<string, StampedRecord>;
  dropped: number;
  /** State of the dialect that belongs to no single run. */
  readonly shared: Shared;
}

export function createFoldState<Fold, Shared>(shared: Shared): FoldState<Fold, Shared> {
  return { folds: new Map(), last: new Map(), ends: new Map(), dropped: 0, shared };
}

/** The dialect-specific parts of a fold encoder. */
export interface FoldHooks<Fold, Out = string> {
  readonly table: LedgerTable<Fold, Out>;
  /** The prototype of the folds, if their class has methods. */
  readonly methods?: object;
  create(record: StampedRecord): Fold;
  /** Returns frames to send before those of the record, for example to open a run whose run_start was not received. */
  before?(fold: Fold, record: StampedRecord): readonly Out[];
  /** Returns frames to send after those of the record. */
  after?(fold: Fold, record: StampedRecord): readonly Out[];
  /** Encodes a record outside a run. Without it, such records are dropped. `isLive`: its session has a live run. */
  encodeRunless?(record: StampedRecord, isLive: boolean): readonly Out[];
  /** See `Encoder.held`. */
  readonly held?: () => number;
}

/** Continues the state that an encoder with the same options saved; starts a new one if `saved` is undefined. */
export function createFoldEncoder<Fold, Out = string>(hooks: FoldHooks<Fold, Out>, saved: unknown): FoldEncoder<Out> {
  const state = (saved ?? createFoldState(undefined)) as FoldState<Fold, unknown>;
  if (hooks.methods !== undefined) for (const fold of state.folds.values()) Object.setPrototypeOf(fold, hooks.methods);
  const folds = new BoundedMap<Fold>(MAX_LIVE_RUNS, undefined, state.folds);
  const last = new BoundedMap<string>(MAX_LIVE_RUNS, undefined, state.last);
  const ends = new BoundedMap<StampedRecord>(MAX_LIVE_RUNS, undefined, state.ends);
  /** The fold of the record before, which most records share. */
  let recent: { readonly session: string; readonly run: string; readonly fold: Fold } | undefined;

  function findFold(record: StampedRecord, session: string, run: string): Fold {
    if (recent?.session === session && recent.run === run && record.event.type !== "run_start") return recent.fold;
    const key = runKey(session, run);
    if (record.event.type === "run_start") folds.delete(key);
    if (folds.get(key) === undefined) last.set(session, run);
    const fold = folds.getOrCreate(key, () => hooks.create(record));
    recent = { session, run, fold };
    return fold;
  }

  /**
   * Returns the run ID of the record; undefined if it is outside a run. A foreign stream may have no run IDs; its records
   * belong to one unnamed run. In a stream with run IDs, a record without one may belong only to the session.
   */
  function findRun({ envelope: { session_id, run_id }, event }: StampedRecord): string | undefined {
    if (run_id !== undefined) return run_id;
    return last.get(session_id) !== UNNAMED && opensNoRun(event) ? undefined : UNNAMED;
  }

  function encodeOutside(record: StampedRecord): readonly Out[] {
    const { envelope, event } = record;
    if (!isKnownEvent(event)) return NOTHING;
    if (hooks.encodeRunless !== undefined) return hooks.encodeRunless(record, hasRun(envelope.session_id));
    if (hooks.table[event.type].support !== "omitted") state.dropped++;
    return NOTHING;
  }

  function hasRun(session: string): boolean {
    return [...folds.keys()].some((key) => key.startsWith(sessionPrefix(session)));
  }

  /** Returns the end of a run that did not complete instead of its reply; every other record as it is. */
  function takeEnd(record: StampedRecord, key: string): StampedRecord {
    const end = record.event.type === "reply" ? ends.get(key) : undefined;
    if (end === undefined) return record;
    ends.delete(key);
    return { envelope: { ...end.envelope, ...pickPosition(record.envelope) }, event: end.event };
  }

  return {
    save: () => state,
    get dropped() {
      return state.dropped;
    },
    get held() {
      return hooks.held?.() ?? 0;
    },
    encode(given) {
      const session = given.envelope.session_id;
      const run = findRun(given);
      if (run === undefined) return encodeOutside(given);
      const key = runKey(session, run);
      if (isBeforeReply(given.event)) {
        ends.set(key, given);
        return NOTHING;
      }
      const record = takeEnd(given, key);
      const { event } = record;
      const fold = findFold(record, session, run);
      const opening = hooks.before?.(fold, record) ?? NOTHING;
      let frames: readonly Out[] = NOTHING;
      if (isKnownEvent(event)) {
        const row = hooks.table[event.type] as { readonly encode?: EventEncoder<Fold, EventType, Out> };
        frames = row.encode?.(fold, event, record) ?? NOTHING;
      }
      const closing = hooks.after?.(fold, record) ?? NOTHING;
      if (endsRun(event)) {
        folds.delete(key);
        recent = undefined;
        if (last.get(session) === run) last.delete(session);
      }
      return opening.length + closing.length === 0 ? frames : [...opening, ...frames, ...closing];
    },
  };
}

/** The position of the frames that end a run is that of its last record. */
function pickPosition({ event_id, ts }: StampedRecord["envelope"]): Partial<StampedRecord["envelope"]> {
  return ts === undefined ? { event_id } : { event_id, ts };
}
