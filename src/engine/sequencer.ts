/**
 * Assigns IDs, times and texts to the records of a session, and queues them until they are durable. It knows no runs
 * and no life-cycle rules.
 *
 * Invariants:
 * - IDs are assigned at once and without gaps. One append is in flight at a time; units pushed meanwhile go into the
 *   next.
 * - A unit waits at most for the append before it and the end of the current event loop turn.
 * - A unit is never split over two appends.
 * - `ts` never decreases.
 * - After a failed append, nothing is accepted until `resume` is called with the end of the log.
 */
import { Buffer } from "node:buffer";
import { setImmediate } from "node:timers";
import { createEntry } from "../log/entry.ts";
import type { Log, LogEntry, Settlement } from "../log/log.ts";
import { quotaExceeded } from "../log/owner-quota.ts";
import { type AnyEvent, isLoomError, LoomError } from "../protocol/index.ts";
import type { Envelope } from "../protocol/events.generated.ts";
import type { StampedEnvelope } from "../protocol/record.ts";
import { showWarning } from "./error-reporter.ts";

/** An event that has no ID and time yet. */
export interface EventDraft {
  readonly runId?: string | undefined;
  readonly nodeId?: string | undefined;
  readonly event: AnyEvent;
  /** Extra envelope fields of a record from another writer. */
  readonly extras?: EnvelopeExtras | undefined;
}

export interface EnvelopeExtras {
  readonly ext?: Envelope["ext"] | undefined;
  /** True if its stream was filtered. `prev_event_id` is then written, so that readers see no gap. */
  readonly isFiltered?: boolean;
}

export interface PushOptions {
  /** Commands settled by this unit. */
  readonly settle?: readonly Settlement[];
  /**
   * Accept the unit even if the backlog is full or the owner's quota is reached. For ends of runs and settled commands: their
   * number is limited by the runs and commands that were accepted.
   */
  readonly force?: boolean;
  /** Time of all its records. It must be a result of `tick`, because `ts` never decreases. */
  readonly ts?: number;
}

/** Records that were accepted and will become durable. */
export interface PushResult {
  /** ID of the unit's last record. */
  readonly lastId: number;
  readonly ts: number;
  /** Resolves to `lastId` when the unit is durable. May be ignored. */
  readonly durable: Promise<number>;
}

export interface SequencerOptions {
  readonly log: Log;
  readonly sessionId: string;
  readonly epoch: number;
  readonly lastId: number;
  readonly lastTs: number;
  readonly now: () => number;
  /** Maximum bytes that are not yet durable; code `backlog_full`. Default: 1 MiB. */
  readonly maxBacklogBytes?: number | undefined;
  /** Called with entries that became durable, before the promises of their units resolve. */
  readonly onCommit?: (entries: readonly LogEntry[]) => void;
  readonly onFailure: (error: LoomError) => void;
}

const MAX_BACKLOG_BYTES = 1024 * 1024;

/** Queued bytes at which an append starts before the end of the event loop turn. */
const EAGER_BYTES = 64 * 1024;

/** Records that are stored together. The promise is created on demand, because most callers do not use it. */
class Unit implements PushResult {
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
    if (this.#outcome !== "waiting") return rejectHandled(this.#outcome);
    this.#waiter ??= Promise.withResolvers<number>();
    return markHandled(this.#waiter.promise);
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
  readonly #options: SequencerOptions;
  readonly #maxBacklogBytes: number;
  #queue: Unit[] = [];
  #inFlight = false;
  /** The first unit of this event loop turn was scheduled; later ones wait for the end of the turn. */
  #isStoredThisTurn = false;
  /** An append is scheduled as a microtask. */
  #isScheduled = false;
  #waiters: Waiter[] = [];
  #durableId: number;
  #lastId: number;
  #lastTs: number;
  /** Not yet durable. */
  #backlogBytes = 0;
  /** Of the backlog: not yet in an append. */
  #queuedBytes = 0;
  #failure: LoomError | undefined;
  /** The owner had reached its quota at the last append; only units with `force` are accepted. */
  #isOverQuota = false;

  constructor(options: SequencerOptions) {
    this.#options = options;
    this.#maxBacklogBytes = options.maxBacklogBytes ?? MAX_BACKLOG_BYTES;
    this.#durableId = options.lastId;
    this.#lastId = options.lastId;
    this.#lastTs = options.lastTs;
  }

  /** ID of the next record. */
  get nextId(): number {
    return this.#lastId + 1;
  }

  /** True if more than half of the backlog is used. Await `drained` before pushing more. */
  get isBehind(): boolean {
    return this.#backlogBytes > this.#maxBacklogBytes / 2;
  }

  /** Why nothing is accepted; undefined while the sequencer works. */
  get failure(): LoomError | undefined {
    return this.#failure;
  }

  /** Returns the time for the next record: now, or the time of the last record if the clock went back. */
  tick(): number {
    this.#lastTs = Math.max(Math.round(this.#options.now()), this.#lastTs);
    return this.#lastTs;
  }

  /** Accepts the whole unit, or throws and accepts nothing. */
  push(drafts: readonly EventDraft[], options: PushOptions = NOTHING_SPECIAL): PushResult {
    const { settle = NO_COMMANDS, force = false, ts = this.tick() } = options;
    if (this.#failure !== undefined) throw this.#failure;
    if (!force && this.#isOverQuota) throw quotaExceeded("bytes", this.#options.log.limits.maxOwnerBytes);
    if (!force && this.#backlogBytes >= this.#maxBacklogBytes)
      throw new LoomError(
        "backlog_full",
        `The write queue is full (${this.#backlogBytes} bytes); await \`ready\` before writing more`,
        { bytes: this.#backlogBytes, limit: this.#maxBacklogBytes },
      );
    const entries: LogEntry[] = [];
    for (const draft of drafts) entries.push(this.#stamp(draft, this.nextId + entries.length, ts));
    const bytes = this.#measure(entries);
    this.#lastId += entries.length;
    this.#backlogBytes += bytes;
    this.#queuedBytes += bytes;
    const unit = new Unit(entries, settle, bytes, this.#lastId, ts);
    this.#queue.push(unit);
    this.#schedule();
    return unit;
  }

  /** Resolves when at least half of the backlog is free, so that many events fit before the next wait. */
  drained(): Promise<void> {
    return this.#wait(() => !this.isBehind);
  }

  /** Resolves when everything pushed is durable. */
  idle(): Promise<void> {
    return this.#wait(() => this.#queue.length === 0 && !this.#inFlight);
  }

  /** Continues after a failure, when no append is in flight. `lastId` is the last ID in the log. */
  resume(lastId: number): void {
    this.#failure = undefined;
    this.#durableId = lastId;
    this.#lastId = lastId;
  }

  /** Stops: rejects everything queued, and everything pushed later, with this error. */
  fail(error: LoomError): void {
    this.#failure = error;
    this.#lastId = this.#durableId;
    const units = this.#queue;
    this.#queue = [];
    this.#queuedBytes = 0;
    for (const unit of units) this.#drop(unit, error);
    this.#notifyWaiters();
  }

  #stamp({ runId, nodeId, event, extras }: EventDraft, id: number, ts: number): LogEntry {
    const { sessionId: session_id } = this.#options;
    // Literals without a spread are much faster. Only records without a run, which are rare, have one.
    const envelope: StampedEnvelope =
      runId === undefined
        ? { session_id, ...(nodeId === undefined ? {} : { node_id: nodeId }), event_id: id, ts }
        : nodeId === undefined
          ? { session_id, run_id: runId, event_id: id, ts }
          : { session_id, run_id: runId, node_id: nodeId, event_id: id, ts };
    try {
      return createEntry({ envelope: extras === undefined ? envelope : addExtras(envelope, extras), event });
    } catch (cause) {
      // A value that JSON cannot represent, such as a nested bigint.
      throw new LoomError("invalid_event", `\`${event.type}\` cannot be written as JSON`, {}, { cause });
    }
  }

  #measure(entries: readonly LogEntry[]): number {
    const { maxEventBytes, maxBatchBytes, maxBatchRecords } = this.#options.log.limits;
    let sum = 0;
    for (const { text } of entries) {
      const bytes = Buffer.byteLength(text);
      if (bytes > maxEventBytes)
        throw new LoomError("event_too_large", `An event has at most ${maxEventBytes} bytes, not ${bytes}`, {
          bytes,
          limit: maxEventBytes,
        });
      sum += bytes;
    }
    if (sum > maxBatchBytes || entries.length > maxBatchRecords)
      throw new LoomError("batch_too_large", `${entries.length} records of ${sum} bytes are too large for one append`);
    return sum;
  }

  /**
   * Schedules an append. The first unit of an event loop turn is stored at once, so that it is durable even if the
   * producer then blocks the loop. The others are stored together at the end of the turn, or when `EAGER_BYTES` are
   * queued.
   */
  #schedule(): void {
    if (this.#inFlight || this.#isScheduled) return;
    if (this.#isStoredThisTurn && this.#queuedBytes < EAGER_BYTES) return;
    this.#isScheduled = true;
    queueMicrotask(() => {
      this.#isScheduled = false;
      void this.#flush();
    });
    if (this.#isStoredThisTurn) return;
    this.#isStoredThisTurn = true;
    setImmediate(() => {
      this.#isStoredThisTurn = false;
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
      const { isOverQuota = false } = await this.#options.log.append({
        sessionId: this.#options.sessionId,
        epoch: this.#options.epoch,
        expectedLastId: this.#durableId,
        entries,
        ...(settle.length === 0 ? {} : { settle }),
      });
      this.#isOverQuota = isOverQuota;
    } catch (cause) {
      error = asStoreError(cause);
    }
    this.#inFlight = false;
    // `fail` may have been called during the append; then it must not count as a success.
    error ??= this.#failure;
    if (error === undefined) this.#commit(units, entries);
    else {
      for (const unit of units) this.#drop(unit, error);
      const isNews = this.#failure === undefined;
      this.fail(error);
      if (isNews) this.#options.onFailure(error);
    }
    // Scheduled rather than flushed, so that a fast log still gets batches.
    if (this.#queue.length > 0) this.#schedule();
  }

  #takeBatch(): readonly Unit[] {
    const { maxBatchRecords, maxBatchBytes } = this.#options.log.limits;
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
    for (const unit of units) this.#queuedBytes -= unit.bytes;
    return units;
  }

  #commit(units: readonly Unit[], entries: readonly LogEntry[]): void {
    this.#durableId += entries.length;
    for (const { bytes } of units) this.#backlogBytes -= bytes;
    try {
      if (entries.length > 0) this.#options.onCommit?.(entries);
    } catch (error) {
      // The entries are durable even if a listener throws.
      showWarning(error);
    }
    for (const unit of units) unit.resolve();
    this.#notifyWaiters();
  }

  #drop(unit: Unit, error: LoomError): void {
    this.#backlogBytes -= unit.bytes;
    unit.reject(error);
  }

  #wait(isMet: () => boolean): Promise<void> {
    if (this.#failure !== undefined) return rejectHandled(this.#failure);
    if (isMet()) return Promise.resolve();
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    this.#waiters.push({ isMet, resolve, reject });
    return markHandled(promise);
  }

  #notifyWaiters(): void {
    const failure = this.#failure;
    this.#waiters = this.#waiters.filter((waiter) => {
      if (failure !== undefined) waiter.reject(failure);
      else if (waiter.isMet()) waiter.resolve();
      else return true;
      return false;
    });
  }
}

function addExtras(envelope: StampedEnvelope, { ext, isFiltered = false }: EnvelopeExtras): StampedEnvelope {
  const prev_event_id = envelope.event_id - 1;
  return { ...envelope, ...(isFiltered ? { prev_event_id } : {}), ...(ext === undefined ? {} : { ext }) };
}

/** Returns a rejected promise that may be ignored without an unhandled rejection. */
export function rejectHandled(reason: unknown): Promise<never> {
  // oxlint-disable-next-line typescript/prefer-promise-reject-errors -- passes on the value that was thrown
  return markHandled(Promise.reject(reason));
}

/** Returns the same promise, which may be ignored without an unhandled rejection. */
export function markHandled<T>(promise: Promise<T>): Promise<T> {
  promise.catch(() => undefined);
  return promise;
}

function asStoreError(cause: unknown): LoomError {
  return isLoomError(cause) ? cause : new LoomError("store_failed", "The log could not be written", {}, { cause });
}
