/**
 * A log in a SQLite file, the default store. A worker thread writes and syncs; this thread reads. Several processes may
 * share the file. Readers of sessions written by this process get new records from memory after the commit; changes by
 * other processes are found by polling the file.
 */
import { randomInt } from "node:crypto";
import { setTimeout as pause } from "node:timers/promises";
import { LoomError } from "../../protocol/index.ts";
import { clearCommitMark } from "../../sqlite/commit-mark.ts";
import { GroupWriter } from "../../sqlite/group-writer.ts";
import { QueryThread } from "../../sqlite/query-thread.ts";
import { Feed } from "../feed.ts";
import { describeHolder } from "../holder.ts";
import type { IndexChanges } from "../index-changes.ts";
import type {
  AcquireOptions,
  Append,
  BlobUsage,
  EncoderSnapshot,
  FoundSession,
  Lease,
  Log,
  LogEntry,
  SearchSessionsOptions,
  SessionChanges,
} from "../log.ts";
import { LOG_LIMITS } from "../log-limits.ts";
import type { CommandSubmission, GrantedLease, LogTables, NewSessionOptions, StoredBatch } from "../log-tables.ts";
import type { PrunableStore } from "../prune-runs.ts";
import { StoreLog } from "../store-log.ts";
import type { CommandRow } from "../stored-rows.ts";
import { toCarriedRows } from "./carried-rows.ts";
import { ChangePoller } from "./change-poller.ts";
import { type OpenedStore, prepareStore } from "./connection.ts";
import {
  isRepeatable,
  lengthOf,
  packGroup,
  type StoreOperation,
  type WriteOperation,
  type WriterData,
} from "./operations.ts";
import { createPruner, PAUSE_MS } from "./retention-rows.ts";
import type { SearchQuery } from "./search-thread.ts";
import { type SqliteLogOptions, STORE_DEFAULTS } from "../store-options.ts";
import { StoreMonitor } from "./store-monitor.ts";
import { StoreReader } from "./store-reader.ts";

const MAX_CHECK_BYTES = 32 * 1024 * 1024;
const MAX_RECENT_ROWS = 4096;

/** Time after the first lease, so that programs that end soon do not wait for a sweep. */
const FIRST_SWEEP_MS = 1000;
const MAX_PAUSE_MS = 100;

// TypeScript in the repository, JavaScript in the published package.
const EXTENSION = import.meta.url.endsWith(".ts") ? ".ts" : ".js";
const WRITER_THREAD = new URL(`./writer-thread${EXTENSION}`, import.meta.url);
const SEARCH_THREAD = new URL(`./search-thread${EXTENSION}`, import.meta.url);

/** A log in a SQLite file, opened by `openSqliteLog`. */
export type SqliteLog = Log & Required<Pick<Log, "monitor">>;

/** Opens the store at an absolute path; see `open-log.ts`. The file is opened again later, in another thread. */
export async function openSqliteLog(path: string, options: SqliteLogOptions = {}): Promise<SqliteLog> {
  const { busyTimeoutMs = 10_000, maxFileBytes } = options;
  const { maxCheckBytes = MAX_CHECK_BYTES, maxRecentRows = MAX_RECENT_ROWS } = options;
  const connection = { busyTimeoutMs, maxFileBytes, maxCheckBytes, maxRecentRows };
  const file = prepareStore(path, connection);
  const limits = { ...LOG_LIMITS, ...options.limits };
  const feed = new Feed(limits);
  const tables = new SqliteTables({ path, file, options: connection, limits }, { ...options, feed });
  const log = new StoreLog({ tables, feed, limits, meter: options.meter });
  return Object.assign(log, { monitor: tables.monitor });
}

interface SqliteTablesOptions extends SqliteLogOptions {
  readonly feed: Feed;
}

/** Reads on this thread, and sends changes to the writer thread. */
class SqliteTables implements LogTables {
  readonly pruner: PrunableStore;
  readonly monitor: StoreMonitor;
  readonly #path: string;
  readonly #now: () => number;
  readonly #writer: GroupWriter<StoreOperation>;
  readonly #reader: StoreReader;
  readonly #searches: QueryThread;
  readonly #poller: ChangePoller;
  /** The first sweep of this process, for rows that earlier processes left. */
  #firstSweep: NodeJS.Timeout | undefined;
  #isClosed = false;

  constructor(store: OpenedStore, options: SqliteTablesOptions) {
    const { feed, now = Date.now, pollMs = 20 } = options;
    const { path } = store;
    this.#path = path;
    this.#now = now;
    // A random number of up to 48 bits, which SQLite and JavaScript both store exactly.
    const writer = randomInt(2 ** 48 - 1);
    this.#reader = new StoreReader(store, now);
    this.#searches = new QueryThread({
      thread: SEARCH_THREAD,
      data: store,
      timeoutMs: options.searchTimeoutMs ?? STORE_DEFAULTS.searchTimeoutMs,
      maxWaiting: options.maxWaitingSearches ?? STORE_DEFAULTS.maxWaitingSearches,
    });
    this.#poller = new ChangePoller({ reader: this.#reader, feed, writer, pollMs });
    this.#writer = new GroupWriter({
      thread: WRITER_THREAD,
      data: { ...store, writer } satisfies WriterData,
      maxQueueBytes: options.maxQueueBytes ?? STORE_DEFAULTS.maxQueueBytes,
      lengthOf,
      pack: packGroup,
      isRepeatable,
      onFailure: (error) => this.monitor.setFailure(error),
    });
    const countFeedBytes = (): number => feed.bytes;
    this.monitor = new StoreMonitor({ path, reader: this.#reader, writer: this.#writer, countFeedBytes });
    this.pruner = createPruner({
      read: (read) => this.reader.readRetention(read),
      write: this.#write,
      now,
    });
  }

  get reader(): StoreReader {
    if (this.#isClosed) throw new LoomError("store_closed", "The log is closed");
    return this.#reader;
  }

  now(): number {
    return this.#now();
  }

  async searchSessions({ signal, ...options }: SearchSessionsOptions): Promise<readonly FoundSession[]> {
    return this.#searches.ask({ options, now: this.#now() } satisfies SearchQuery, signal);
  }

  async createSession(sessionId: string, options: NewSessionOptions): Promise<void> {
    const carried = toCarriedRows(options.carried);
    await this.#write({ ...options, do: "create", sessionId, carried, now: this.#now() });
  }

  async createDraft(options: NewSessionOptions): Promise<number> {
    const fresh = { ...options, holder: describeHolder(), carried: toCarriedRows(options.carried) };
    return this.#write({ ...fresh, do: "create-draft", now: this.#now() });
  }

  async extendDraft(key: number, _after: number, entries: readonly LogEntry[], changes: IndexChanges): Promise<void> {
    const text = joinTexts(entries);
    await this.#write({ do: "extend-draft", key, count: entries.length, text, changes, now: this.#now() });
    await pause(PAUSE_MS);
  }

  async publishDraft(
    key: number,
    sessionId: string,
    { carried: _carried, ...options }: NewSessionOptions,
  ): Promise<void> {
    await this.#write({ ...options, do: "publish-draft", key, sessionId, now: this.#now() });
  }

  async discardDraft(key: number): Promise<void> {
    await this.#write({ do: "discard-draft", key });
    this.#sweepLater();
  }

  async updateSession(sessionId: string, changes: SessionChanges, ifTitle: string | undefined): Promise<void> {
    await this.#write({ ...changes, do: "update", sessionId, ifTitle });
  }

  async deleteSession(sessionId: string, epoch: number | undefined): Promise<boolean> {
    const isKnown = await this.#write({ do: "delete", sessionId, epoch });
    // The session is already gone; its rows are deleted in the background.
    this.#sweepLater();
    return isKnown;
  }

  async acquire(sessionId: string, options: Required<AcquireOptions>): Promise<GrantedLease> {
    this.#firstSweep ??= setTimeout(() => this.#sweepLater(), FIRST_SWEEP_MS).unref();
    return this.#write({ do: "acquire", sessionId, ...options, now: this.#now() });
  }

  async renew({ sessionId, epoch }: Lease, ttlMs: number): Promise<Lease> {
    return this.#write({ do: "renew", sessionId, epoch, ttlMs, now: this.#now() });
  }

  async release({ sessionId, epoch }: Lease, handsOver: boolean): Promise<boolean> {
    await this.#write({ do: "release", sessionId, epoch, handsOver });
    return false;
  }

  async append(batch: Append, changes: IndexChanges | undefined): Promise<StoredBatch> {
    const { sessionId, epoch, expectedLastId, entries, settle } = batch;
    const text = joinTexts(entries);
    const isOverQuota = await this.#write({
      do: "append",
      sessionId,
      epoch,
      expectedLastId,
      count: entries.length,
      text,
      changes,
      settle,
      now: settle === undefined ? 0 : this.#now(),
    });
    return { isOverQuota: isOverQuota === true, text };
  }

  async submit(submission: CommandSubmission): Promise<CommandRow> {
    return this.#write({ do: "submit", ...submission, now: this.#now() });
  }

  async setBlobUsage(sessionId: string, { blobs, bytes }: BlobUsage): Promise<void> {
    await this.#write({ do: "set-blob-usage", sessionId, blobs, bytes });
  }

  async saveSnapshot(sessionId: string, snapshot: EncoderSnapshot): Promise<void> {
    await this.#write({ do: "save-snapshot", sessionId, snapshot });
  }

  async clean(settledBefore: number): Promise<void> {
    while (await this.#write({ do: "drop-commands", before: settledBefore })) await pause(PAUSE_MS);
    await this.#sweep();
    await this.#write({ do: "scrub" });
  }

  startWatching(): void {
    if (!this.#isClosed) this.#poller.start();
  }

  stopWatching(): void {
    this.#poller.stop();
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    clearTimeout(this.#firstSweep);
    this.#poller.stop();
    this.monitor.close();
    await Promise.all([this.#writer.close(), this.#searches.close()]);
    this.#reader.close();
    clearCommitMark(this.#path);
  }

  readonly #write: WriteOperation = (operation) => this.monitor.write(operation);

  /** Deletes rows that can no longer be read. */
  async #sweep(): Promise<void> {
    for (let startedAt = performance.now(); await this.#write({ do: "sweep", now: this.#now() });) {
      // Other processes poll for the lock of the store, so the pause is as long as the transaction.
      await pause(Math.max(PAUSE_MS, Math.min(performance.now() - startedAt, MAX_PAUSE_MS)));
      startedAt = performance.now();
    }
  }

  /** Sweeps in the background. If it fails, the next sweep continues. */
  #sweepLater(): void {
    this.#sweep().catch(() => undefined);
  }
}

function joinTexts(entries: readonly LogEntry[]): string {
  return entries.length === 1 ? (entries[0]?.text ?? "") : entries.map(({ text }) => text).join("\n");
}
