/**
 * The one place where records of a session get their ids, times and texts, and the queue they wait in until they are
 * durable. It knows no run and no rule of a run's life.
 *
 * Invariants:
 * - Ids are given at once and without a gap; one append is in flight, what gathers meanwhile goes into the next.
 * - Nothing waits longer than for the append before it and the end of a turn of the event loop.
 * - A unit is never split over two appends.
 * - `ts` never goes backwards.
 * - After a failed append nothing is taken until somebody has looked where the log ends, and called `resume`.
 */
import { Buffer } from "node:buffer";
import { setImmediate } from "node:timers";
import { createEntry } from "../log/entry.ts";
import type { Log, LogEntry, Settlement } from "../log/log.ts";
import { type AnyEvent, type Envelope, isLoomError, LoomError, type StampedEnvelope } from "../protocol/index.ts";
import { showWarning } from "./show-warning.ts";

export interface Draft {
  readonly runId?: string | undefined;
  readonly nodeId?: string | undefined;
  readonly event: AnyEvent;
  /** What a record that came from elsewhere has beside. */
  readonly came?: CameWith | undefined;
}

export interface CameWith {
  readonly ext?: Envelope["ext"] | undefined;
  /** Its stream left something out: `prev_event_id` is written, so that nobody misses it. */
  readonly isFiltered?: boolean;
}

export interface PushOptions {
  /** Commands that are answered by this unit. */
  readonly settle?: readonly Settlement[];
  /** Take it although the backlog is full: what ends a run, or answers a command, is bounded elsewhere. */
  readonly force?: boolean;
  /** The time of all its records; see `tick`. */
  readonly ts?: number;
}

export interface Pushed {
  /** Of the unit's last record. */
  readonly lastId: number;
  readonly ts: number;
  /** Resolves to `lastId` once durable. Nobody has to look at it. */
  readonly durable: Promise<number>;
}

export interface SequencerOptions {
  readonly log: Log;
  readonly sessionId: string;
  readonly epoch: number;
  readonly lastId: number;
  readonly lastTs?: number;
  readonly now?: () => number;
  /** Bytes that are not durable yet; code `backlog_full`. */
  readonly maxBacklogBytes?: number;
  /** Told of what became durable, before those who wait for it. */
  readonly onCommit?: (entries: readonly LogEntry[]) => void;
  readonly onFailure?: (error: LoomError) => void;
}

const MAX_BACKLOG_BYTES = 1024 * 1024;

/** What waits for the end of a turn of the event loop goes at once when it has grown to this. */
const EAGER_BYTES = 64 * 1024;

/** Records that are stored together. Most producers of tokens never ask when: the promise is made for those who do. */
class Unit implements Pushed {
  readonly entries: readonly LogEntry[];
  readonly settle: readonly Settlement[];
  readonly bytes: number;
  readonly lastId: number;
  readonly ts: number;
  #outcome: "waiting" | "durable" | LoomError = "waiting";
  #waiter: PromiseWithResolvers<number> | undefined;

  constructor(entries: readonly LogEntry[], settle: readonly Settlement[], bytes: number, lastId: number, ts: number) {
    this.entries = entries;
    this.settle = settle;
    this.bytes = bytes;
    this.lastId = lastId;
    this.ts = ts;
  }

  get durable(): Promise<number> {
    if (this.#outcome === "durable") return Promise.resolve(this.lastId);
    if (this.#outcome !== "waiting") return refuse(this.#outcome);
    this.#waiter ??= Promise.withResolvers<number>();
    return quiet(this.#waiter.promise);
  }

  resolve(): void {
    this.#outcome = "durable";
    this.#waiter?.resolve(this.lastId);
  }

  reject(error: LoomError): void {
    this.#outcome = error;
    this.#waiter?.reject(error);
  }
}

const NOTHING_SPECIAL: PushOptions = {};
const NO_COMMANDS: readonly Settlement[] = [];

interface Waiter {
  readonly isMet: () => boolean;
  readonly resolve: () => void;
  readonly reject: (error: LoomError) => void;
}

export class Sequencer {
  readonly #log: Log;
  readonly #sessionId: string;
  readonly #epoch: number;
  readonly #now: () => number;
  readonly #maxBacklogBytes: number;
  readonly #onCommit: (entries: readonly LogEntry[]) => void;
  readonly #onFailure: (error: LoomError) => void;
  #queue: Unit[] = [];
  #inFlight = false;
  /** Something was stored in this turn of the event loop; what comes now waits for its end. */
  #isTurn = false;
  /** It goes as soon as what is being done is done. */
  #isDue = false;
  #waiters: Waiter[] = [];
  #durableId: number;
  #lastId: number;
  #lastTs: number;
  #backlog = 0;
  /** Bytes of the queue. */
  #waiting = 0;
  #failure: LoomError | undefined;

  constructor(options: SequencerOptions) {
    this.#log = options.log;
    this.#sessionId = options.sessionId;
    this.#epoch = options.epoch;
    this.#durableId = options.lastId;
    this.#lastId = options.lastId;
    this.#lastTs = options.lastTs ?? 0;
    this.#now = options.now ?? Date.now;
    this.#maxBacklogBytes = options.maxBacklogBytes ?? MAX_BACKLOG_BYTES;
    this.#onCommit = options.onCommit ?? (() => undefined);
    this.#onFailure = options.onFailure ?? (() => undefined);
  }

  /** The id the next record gets. */
  get nextId(): number {
    return this.#lastId + 1;
  }

  get backlogBytes(): number {
    return this.#backlog;
  }

  /** Somebody should wait for `drained`. */
  get isBehind(): boolean {
    return this.#backlog > this.#maxBacklogBytes / 2;
  }

  get congested(): boolean {
    return this.#backlog >= this.#maxBacklogBytes;
  }

  /** Why nothing is taken; undefined when all is well. */
  get failure(): LoomError | undefined {
    return this.#failure;
  }

  /** The time for the next record: now, or that of the last one where the clock was set back. */
  tick(): number {
    this.#lastTs = Math.max(Math.round(this.#now()), this.#lastTs);
    return this.#lastTs;
  }

  /** Takes a unit whole, or throws and has taken nothing. */
  push(drafts: readonly Draft[], options: PushOptions = NOTHING_SPECIAL): Pushed {
    const { settle = NO_COMMANDS, force = false, ts = this.tick() } = options;
    if (this.#failure !== undefined) throw this.#failure;
    if (!force && this.congested)
      throw new LoomError("backlog_full", `${this.#backlog} bytes wait to be stored`, {
        bytes: this.#backlog,
        limit: this.#maxBacklogBytes,
      });
    const entries: LogEntry[] = [];
    for (const draft of drafts) entries.push(this.#stamp(draft, this.nextId + entries.length, ts));
    const bytes = this.#measure(entries);
    this.#lastId += entries.length;
    this.#backlog += bytes;
    this.#waiting += bytes;
    const unit = new Unit(entries, settle, bytes, this.#lastId, ts);
    this.#queue.push(unit);
    this.#schedule();
    return unit;
  }

  /** Resolves when half of the backlog is free: then many events fit before anybody has to ask again. */
  drained(): Promise<void> {
    return this.#wait(() => this.#backlog <= this.#maxBacklogBytes / 2);
  }

  /** Resolves when all that was pushed is durable. */
  idle(): Promise<void> {
    return this.#wait(() => this.#queue.length === 0 && !this.#inFlight);
  }

  /** Goes on after a failure, from where the log is known to end. */
  resume(lastId: number): void {
    this.#failure = undefined;
    this.#durableId = lastId;
    this.#lastId = lastId;
  }

  /** Gives up: all that waits is refused with this error, and all that comes. */
  fail(error: LoomError): void {
    this.#failure = error;
    this.#lastId = this.#durableId;
    const units = this.#queue;
    this.#queue = [];
    this.#waiting = 0;
    for (const unit of units) this.#drop(unit, error);
    this.#tellWaiters();
  }

  #stamp({ runId, nodeId, event, came }: Draft, id: number, ts: number): LogEntry {
    const session_id = this.#sessionId;
    // An object made whole is much cheaper than one put together.
    const envelope: StampedEnvelope =
      runId === undefined
        ? { session_id, ...(nodeId === undefined ? {} : { node_id: nodeId }), event_id: id, ts }
        : nodeId === undefined
          ? { session_id, run_id: runId, event_id: id, ts }
          : { session_id, run_id: runId, node_id: nodeId, event_id: id, ts };
    try {
      return createEntry({ envelope: came === undefined ? envelope : addRest(envelope, came), event });
    } catch (cause) {
      // A value that JSON has no form for, such as a bigint deep inside.
      throw new LoomError("invalid_event", `\`${event.type}\` cannot be written as JSON`, {}, { cause });
    }
  }

  #measure(entries: readonly LogEntry[]): number {
    const { maxEventBytes, maxBatchBytes, maxBatchRecords } = this.#log.limits;
    let sum = 0;
    for (const { text } of entries) {
      const bytes = Buffer.byteLength(text);
      if (bytes > maxEventBytes)
        throw new LoomError("event_too_large", `an event may have ${maxEventBytes} bytes, not ${bytes}`, {
          bytes,
          limit: maxEventBytes,
        });
      sum += bytes;
    }
    if (sum > maxBatchBytes || entries.length > maxBatchRecords)
      throw new LoomError("batch_too_large", `${entries.length} records of ${sum} bytes are too much for one append`);
    return sum;
  }

  /**
   * The first of a turn of the event loop goes at once, so that a producer that then keeps the loop busy has said it; the
   * others go together when the turn is over, or when much has gathered.
   */
  #schedule(): void {
    if (this.#inFlight || this.#isDue) return;
    if (this.#isTurn && this.#waiting < EAGER_BYTES) return;
    this.#isDue = true;
    queueMicrotask(() => {
      this.#isDue = false;
      void this.#flush();
    });
    if (this.#isTurn) return;
    this.#isTurn = true;
    setImmediate(() => {
      this.#isTurn = false;
      void this.#flush();
    });
  }

  async #flush(): Promise<void> {
    if (this.#queue.length === 0 || this.#inFlight) return;
    const units = this.#takeBatch();
    const entries: LogEntry[] = [];
    const settle: Settlement[] = [];
    for (const unit of units) {
      for (const entry of unit.entries) entries.push(entry);
      if (unit.settle.length > 0) settle.push(...unit.settle);
    }
    this.#inFlight = true;
    let error: LoomError | undefined;
    try {
      await this.#log.append({
        sessionId: this.#sessionId,
        epoch: this.#epoch,
        expectedLastId: this.#durableId,
        entries,
        ...(settle.length === 0 ? {} : { settle }),
      });
    } catch (cause) {
      error = asStoreError(cause);
    }
    this.#inFlight = false;
    // `fail` may have been called meanwhile: then nobody is told that it worked.
    error ??= this.#failure;
    if (error === undefined) this.#commit(units, entries);
    else {
      for (const unit of units) this.#drop(unit, error);
      const isNews = this.#failure === undefined;
      this.fail(error);
      if (isNews) this.#onFailure(error);
    }
    // Not at once: a log that answers quickly would be given everything one by one.
    if (this.#queue.length > 0) this.#schedule();
  }

  #takeBatch(): readonly Unit[] {
    const { maxBatchRecords, maxBatchBytes } = this.#log.limits;
    let records = 0;
    let bytes = 0;
    let count = 0;
    for (const unit of this.#queue) {
      records += unit.entries.length;
      bytes += unit.bytes;
      if (count > 0 && (records > maxBatchRecords || bytes > maxBatchBytes)) break;
      count++;
    }
    const units = this.#queue.splice(0, count);
    for (const unit of units) this.#waiting -= unit.bytes;
    return units;
  }

  #commit(units: readonly Unit[], entries: readonly LogEntry[]): void {
    this.#durableId += entries.length;
    for (const { bytes } of units) this.#backlog -= bytes;
    try {
      if (entries.length > 0) this.#onCommit(entries);
    } catch (error) {
      // What is durable stays so, whatever those make of it who are told.
      showWarning(error);
    }
    for (const unit of units) unit.resolve();
    this.#tellWaiters();
  }

  #drop(unit: Unit, error: LoomError): void {
    this.#backlog -= unit.bytes;
    unit.reject(error);
  }

  #wait(isMet: () => boolean): Promise<void> {
    if (this.#failure !== undefined) return refuse(this.#failure);
    if (isMet()) return Promise.resolve();
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    promise.catch(() => undefined);
    this.#waiters.push({ isMet, resolve, reject });
    return promise;
  }

  #tellWaiters(): void {
    const failure = this.#failure;
    this.#waiters = this.#waiters.filter((waiter) => {
      if (failure !== undefined) waiter.reject(failure);
      else if (waiter.isMet()) waiter.resolve();
      else return true;
      return false;
    });
  }
}

function addRest(envelope: StampedEnvelope, { ext, isFiltered = false }: CameWith): StampedEnvelope {
  const prev_event_id = envelope.event_id - 1;
  return { ...envelope, ...(isFiltered ? { prev_event_id } : {}), ...(ext === undefined ? {} : { ext }) };
}

/** A rejection that harms nobody who does not look at it. */
export function refuse(reason: unknown): Promise<never> {
  // oxlint-disable-next-line typescript/prefer-promise-reject-errors -- it is what was thrown, whatever that is
  return quiet(Promise.reject(reason));
}

/** The same promise, which harms nobody who does not look at it. */
export function quiet<T>(promise: Promise<T>): Promise<T> {
  promise.catch(() => undefined);
  return promise;
}

function asStoreError(cause: unknown): LoomError {
  return isLoomError(cause) ? cause : new LoomError("store_failed", "the log could not be written", {}, { cause });
}
