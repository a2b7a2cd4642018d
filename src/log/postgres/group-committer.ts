/**
 * Commits the appends of all sessions of a process. While a batch is being stored, further appends wait and go into the
 * next one, so the database commits a few times per millisecond however many sessions there are. Two batches are stored
 * at the same time.
 *
 * Invariants: the appends of a session are stored in call order, and a session is in one batch at a time. A rejected
 * append does not affect other sessions.
 */
import type { PostgresDatabase } from "../../postgres/postgres-database.ts";
import { LoomError } from "../../protocol/loom-error.ts";
import type { IndexChanges } from "../index-changes.ts";
import type { Append } from "../log.ts";
import { appendBatch, appendOne, type BatchedAppend, SEPARATOR, type StoredAppend } from "./append-batch.ts";
import { MAX_ROW_LENGTH, MAX_ROW_RECORDS, splitRows } from "./record-rows.ts";

const MAX_BATCHES = 2;
/** Characters and sessions of a batch, unless one append has more. */
const MAX_BATCH_LENGTH = 1024 * 1024;
const MAX_BATCH_SESSIONS = 200;

export interface GroupCommitterOptions {
  readonly db: PostgresDatabase;
  /** Maximum size of all waiting appends in characters. More throw `backlog_full`. */
  readonly maxQueueBytes: number;
}

interface WaitingAppend {
  readonly batch: Append;
  /** Undefined if no index changes. */
  readonly changes: IndexChanges | undefined;
  readonly length: number;
  readonly resolve: (stored: StoredAppend) => void;
  readonly reject: (error: unknown) => void;
}

/** Appends of a session that are stored together. */
interface TakenAppends {
  readonly sessionId: string;
  readonly appends: readonly WaitingAppend[];
}

export class GroupCommitter {
  readonly #options: GroupCommitterOptions;
  /** Waiting appends of each session. */
  readonly #waiting = new Map<string, WaitingAppend[]>();
  /** Sessions with waiting appends that are in no batch, the one that waits longest first. */
  readonly #ready = new Set<string>();
  readonly #busy = new Set<string>();
  /** The last append of each session that is not stored yet. */
  readonly #last = new Map<string, Promise<unknown>>();
  #batches = 0;
  #length = 0;
  #count = 0;
  #isPlanned = false;

  constructor(options: GroupCommitterOptions) {
    this.#options = options;
  }

  get load(): { readonly queuedOperations: number; readonly queuedBytes: number; readonly sentGroups: number } {
    return { queuedOperations: this.#count, queuedBytes: this.#length, sentGroups: this.#batches };
  }

  /** Resolves when the append is durable. */
  async append(batch: Append, changes: IndexChanges | undefined): Promise<StoredAppend> {
    const { sessionId, entries } = batch;
    let length = 0;
    for (const { text } of entries) length += text.length;
    if (this.#length + length > this.#options.maxQueueBytes)
      throw new LoomError("backlog_full", "Too many records are waiting for the database; try again later", {
        limit: this.#options.maxQueueBytes,
      });
    const { promise, resolve, reject } = Promise.withResolvers<StoredAppend>();
    const queue = this.#waiting.get(sessionId) ?? [];
    queue.push({ batch, changes, length, resolve, reject });
    this.#waiting.set(sessionId, queue);
    this.#length += length;
    this.#count++;
    if (!this.#busy.has(sessionId)) this.#ready.add(sessionId);
    const settled = promise.then(
      () => undefined,
      () => undefined,
    );
    this.#last.set(sessionId, settled);
    this.#plan();
    try {
      return await promise;
    } finally {
      this.#length -= length;
      this.#count--;
      if (this.#last.get(sessionId) === settled) this.#last.delete(sessionId);
    }
  }

  /** Resolves when the appends of the session that were called before are stored or rejected. */
  async drain(sessionId: string): Promise<void> {
    await this.#last.get(sessionId);
  }

  /** Waits for the other appends of this turn of the event loop. */
  #plan(): void {
    if (this.#isPlanned || this.#batches >= MAX_BATCHES) return;
    this.#isPlanned = true;
    setImmediate(() => {
      this.#isPlanned = false;
      while (this.#batches < MAX_BATCHES && this.#ready.size > 0) this.#start();
    });
  }

  #start(): void {
    // Shared between the free connections: a batch of everything would leave the other one idle.
    const share = Math.ceil(this.#ready.size / (MAX_BATCHES - this.#batches));
    const taken: TakenAppends[] = [];
    let length = 0;
    for (const sessionId of this.#ready) {
      const appends = takeConsecutive(this.#waiting.get(sessionId) ?? []);
      if (appends.length === 0) break;
      for (const append of appends) length += append.length;
      this.#ready.delete(sessionId);
      this.#busy.add(sessionId);
      taken.push({ sessionId, appends });
      if (taken.length >= Math.min(share, MAX_BATCH_SESSIONS) || length >= MAX_BATCH_LENGTH) break;
    }
    this.#batches++;
    void this.#store(taken);
  }

  async #store(taken: readonly TakenAppends[]): Promise<void> {
    const plain = taken.filter(({ appends }) => appends.every(isPlain));
    const single = taken.filter((one) => !plain.includes(one));
    try {
      const stored = plain.length === 0 ? [] : await appendBatch(this.#options.db, plain.map(join));
      for (const [index, one] of plain.entries()) {
        const result = stored[index];
        if (result === undefined) single.push(one);
        else {
          for (const { resolve } of one.appends) resolve(result);
          this.#finish(one);
        }
      }
    } catch (error) {
      for (const one of plain) {
        for (const { reject } of one.appends) reject(error);
        this.#finish(one);
      }
    }
    // The connection is free: the rest of these sessions does not delay the next batch.
    this.#batches--;
    this.#plan();
    await Promise.all(single.map(async (one) => this.#storeEach(one)));
  }

  async #storeEach(one: TakenAppends): Promise<void> {
    const { db } = this.#options;
    for (const { batch, changes, resolve, reject } of one.appends) {
      try {
        resolve(await db.transact((transaction) => appendOne(transaction, batch, changes)));
      } catch (error) {
        reject(error);
      }
    }
    this.#finish(one);
  }

  #finish({ sessionId }: TakenAppends): void {
    this.#busy.delete(sessionId);
    if ((this.#waiting.get(sessionId)?.length ?? 0) > 0) this.#ready.add(sessionId);
    else this.#waiting.delete(sessionId);
    this.#plan();
  }
}

/** Whether the append can go into a batch: its numbers fit the database, it fits into a row, and settles no command. */
function isPlain({ batch, length }: WaitingAppend): boolean {
  const { epoch, expectedLastId, entries, settle = [] } = batch;
  if (settle.length > 0 || entries.length === 0 || entries.length > MAX_ROW_RECORDS) return false;
  if (length > MAX_ROW_LENGTH && entries.length > 1) return false;
  if (entries.some(({ text }) => text.includes(SEPARATOR))) return false;
  return Number.isSafeInteger(epoch) && Number.isSafeInteger(expectedLastId);
}

/** Takes the first append, and those that continue it and fit into the same row. */
function takeConsecutive(queue: WaitingAppend[]): readonly WaitingAppend[] {
  const [first] = queue;
  if (first === undefined) return [];
  let count = 1;
  if (isPlain(first)) {
    let records = first.batch.entries.length;
    let { length } = first;
    for (let next = queue[count]; next !== undefined && isPlain(next); next = queue[count]) {
      const { epoch, expectedLastId, entries } = next.batch;
      if (epoch !== first.batch.epoch || expectedLastId !== first.batch.expectedLastId + records) break;
      records += entries.length;
      length += next.length;
      if (records > MAX_ROW_RECORDS || length > MAX_ROW_LENGTH) break;
      count++;
    }
  }
  return queue.splice(0, count);
}

function join({ sessionId, appends }: TakenAppends): BatchedAppend {
  const [first] = appends;
  const [row] = splitRows(appends.flatMap(({ batch }) => batch.entries.map(({ text }) => text)));
  if (first === undefined || row === undefined) throw new TypeError("A batch needs records");
  const { epoch, expectedLastId } = first.batch;
  return { sessionId, epoch, expectedLastId, row, changes: appends.flatMap(({ changes }) => changes ?? []) };
}
