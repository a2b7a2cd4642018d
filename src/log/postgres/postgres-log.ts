/**
 * A log in PostgreSQL, for several machines. Every process is equal: it writes through a group committer, reads with
 * single statements, and follows what others write by notifications and polls. The database decides who may write a
 * session and when a lease has ended.
 */
import { randomUUID } from "node:crypto";
import { migratePostgres } from "../../postgres/migrate.ts";
import { openPostgres, type PostgresDatabase } from "../../postgres/postgres-database.ts";
import { SearchQueue } from "../../protocol/search-queue.ts";
import { fromColumn, toColumn } from "../../postgres/text-column.ts";
import { assertEpoch } from "../change-rules.ts";
import { Feed } from "../feed.ts";
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
import { LOG_LIMITS, type LogLimits } from "../log-limits.ts";
import type { CommandSubmission, GrantedLease, LogTables, NewSessionOptions, StoredBatch } from "../log-tables.ts";
import type { PrunableStore } from "../prune-runs.ts";
import { assertSession, MAX_SNAPSHOTS } from "../rules.ts";
import { StoreLog } from "../store-log.ts";
import type { CommandRow } from "../stored-rows.ts";
import { ChangeNotifier, ORPHANS } from "./change-notifier.ts";
import { ChangeWatcher } from "./change-watcher.ts";
import { dropActors } from "./command-rows.ts";
import { DatabaseMonitor } from "./database-monitor.ts";
import { createDraft, discardAbandoned, discardDraft, extendDraft, publishDraft } from "./draft-rows.ts";
import { GroupCommitter } from "./group-committer.ts";
import { writeTexts } from "./index-rows.ts";
import { endLease, grantLease, isHandedOver } from "./lease-rows.ts";
import { LeaseRenewer } from "./lease-renewer.ts";
import { LogReader } from "./log-reader.ts";
import { OwnerQuota } from "./owner-usage.ts";
import { type PostgresLogOptions, STORE_DEFAULTS } from "../store-options.ts";
import { createPruner, dropCommands } from "./retention-rows.ts";
import { LOG_FORMAT } from "./schema.ts";
import { searchSessions } from "./search-sessions.ts";
import { deleteRows, lockSession, type LogTransaction, openSession } from "./session-rows.ts";
import { changeSession, submitCommand } from "./submit-command.ts";

const POLL_MS = 1000;

/** Stores nothing if the session was deleted or the record was pruned. */
const SAVE_SNAPSHOT = `INSERT INTO @.snapshots (session, key, event_id, state)
  SELECT s.key, $2, $3::bigint, $4 FROM @.sessions s WHERE s.session_id = $1 AND s.first_id <= $3
  ON CONFLICT (session, key, event_id) DO UPDATE SET state = excluded.state RETURNING session`;

/** Deletes the oldest beyond the limits. */
const TRIM_SNAPSHOTS = `DELETE FROM @.snapshots p USING (
    SELECT seq, sum(octet_length(state)) OVER w AS bytes, row_number() OVER w AS place
    FROM @.snapshots WHERE session = $1 WINDOW w AS (ORDER BY seq DESC)) old
  WHERE p.session = $1 AND p.seq = old.seq AND (old.bytes > $2 OR old.place > ${MAX_SNAPSHOTS})`;

/** A log in PostgreSQL, opened by `openPostgresLog`. */
export type PostgresLog = Log & Required<Pick<Log, "monitor" | "waitLonger" | "watchOrphans">>;

/** Opens a log; see `open-log.ts`. With a URL it closes its connections, and a given database stays open. */
export async function openPostgresLog(
  database: string | PostgresDatabase,
  options: PostgresLogOptions = {},
): Promise<PostgresLog> {
  const ownsDatabase = typeof database === "string";
  const db = ownsDatabase ? await openPostgres(database, options) : database;
  try {
    await migratePostgres(db, LOG_FORMAT);
    db.now = options.now;
    const limits = { ...LOG_LIMITS, ...options.limits };
    const feed = new Feed(limits);
    const tables = new PostgresTables(db, { ...options, limits, feed, ownsDatabase });
    const log = new StoreLog({ tables, feed, limits, meter: options.meter });
    return Object.assign(log, {
      monitor: tables.monitor,
      waitLonger: async <T>(work: () => Promise<T>): Promise<T> => db.waitLonger(work),
      watchOrphans(listener: () => void): () => void {
        const unwatch = feed.watchOrphans(listener);
        tables.startWatching();
        return unwatch;
      },
    });
  } catch (error) {
    if (ownsDatabase) await db.close();
    throw error;
  }
}

interface PostgresTablesOptions extends PostgresLogOptions {
  readonly limits: LogLimits;
  readonly feed: Feed;
  readonly ownsDatabase: boolean;
}

/** Changes a session in one transaction, which locks its row. */
class PostgresTables implements LogTables {
  readonly reader: LogReader;
  readonly pruner: PrunableStore;
  readonly monitor: DatabaseMonitor;
  readonly #db: PostgresDatabase;
  readonly #options: PostgresTablesOptions;
  readonly #committer: GroupCommitter;
  readonly #renewer: LeaseRenewer;
  readonly #quota: OwnerQuota;
  readonly #searchTimeoutMs: number;
  readonly #searches: SearchQueue;
  readonly #notifier: ChangeNotifier;
  readonly #watcher: ChangeWatcher;
  #isClosed = false;

  constructor(db: PostgresDatabase, options: PostgresTablesOptions) {
    const { limits, feed, pollMs = POLL_MS } = options;
    const { maxQueueBytes = STORE_DEFAULTS.maxQueueBytes } = options;
    this.#db = db;
    this.#options = options;
    this.reader = new LogReader(db, limits);
    this.#renewer = new LeaseRenewer(db);
    this.#committer = new GroupCommitter({ db, maxQueueBytes });
    this.#quota = new OwnerQuota(db, limits);
    this.#searchTimeoutMs = options.searchTimeoutMs ?? STORE_DEFAULTS.searchTimeoutMs;
    const { maxWaitingSearches: maxWaiting = STORE_DEFAULTS.maxWaitingSearches } = options;
    this.#searches = new SearchQueue({ maxWaiting, timeoutMs: this.#searchTimeoutMs });
    const writer = randomUUID();
    this.#notifier = new ChangeNotifier(db, writer);
    const measure = () => ({ ...this.#committer.load, feedBytes: feed.bytes });
    this.monitor = new DatabaseMonitor({ db, measure });
    this.#watcher = new ChangeWatcher({ db, feed, writer, pollMs, onDeaf: this.monitor.onDeaf });
    this.pruner = createPruner(db, (sessionId) => this.#notifier.note(sessionId));
  }

  async now(): Promise<number> {
    const [time] = await this.#db.read<{ now: number }>("SELECT @now AS now");
    return time?.now ?? 0;
  }

  async searchSessions(options: SearchSessionsOptions): Promise<readonly FoundSession[]> {
    const search = { db: this.#db, timeoutMs: this.#searchTimeoutMs };
    return this.#searches.run(() => searchSessions(search, options), options.signal);
  }

  async createSession(sessionId: string, options: NewSessionOptions): Promise<void> {
    const { title } = options;
    await this.#change(async (transaction) => {
      const { head, isNew } = await openSession(transaction, { ...options, sessionId });
      if (!isNew || title === undefined) return;
      const session = { key: head.key, owner: fromColumn(head.owner) };
      await writeTexts(transaction, [{ session, eventId: 0, text: title }]);
    });
  }

  /** A draft that was stored by an attempt whose answer was lost is deleted as abandoned. */
  async createDraft(options: NewSessionOptions): Promise<number> {
    return this.#change((transaction) => createDraft(transaction, options));
  }

  async extendDraft(key: number, after: number, entries: readonly LogEntry[], changes: IndexChanges): Promise<void> {
    await this.#change((transaction) => extendDraft(transaction, key, after, entries, changes));
  }

  async publishDraft(key: number, sessionId: string, options: NewSessionOptions): Promise<void> {
    await this.#change((transaction) => publishDraft(transaction, key, sessionId, options));
  }

  async discardDraft(key: number): Promise<void> {
    await this.#change((transaction) => discardDraft(transaction, key));
  }

  async updateSession(sessionId: string, changes: SessionChanges, ifTitle: string | undefined): Promise<void> {
    await this.#change((transaction) => changeSession(transaction, sessionId, changes, ifTitle));
  }

  async deleteSession(sessionId: string, epoch: number | undefined): Promise<boolean> {
    await this.#committer.drain(sessionId);
    return this.#change(async (transaction) => {
      const head = await lockSession(transaction, sessionId);
      // An earlier attempt has deleted it, if its answer was lost.
      if (head === undefined) return transaction.attempt > 0;
      if (epoch !== undefined) assertEpoch(sessionId, head, epoch);
      await deleteRows(transaction, head.key);
      return true;
    });
  }

  async acquire(sessionId: string, options: Required<AcquireOptions>): Promise<GrantedLease> {
    const { create, ...request } = options;
    this.#db.leaseMs = options.ttlMs;
    const token = randomUUID();
    await this.#committer.drain(sessionId);
    let wasHandedOver = false;
    const lease = await this.#change(async (transaction) => {
      const { head } = create
        ? await openSession(transaction, { sessionId })
        : { head: assertSession(await lockSession(transaction, sessionId), sessionId) };
      wasHandedOver = isHandedOver(head, token) ?? wasHandedOver;
      return grantLease(transaction, sessionId, head, { ...request, token, known: this.#db });
    });
    return { ...lease, wasHandedOver };
  }

  async renew(lease: Lease, ttlMs: number): Promise<Lease> {
    return this.#renewer.renew(lease, ttlMs);
  }

  async release(lease: Lease, handsOver: boolean): Promise<boolean> {
    await this.#committer.drain(lease.sessionId);
    const isOrphan = await endLease(this.#db, lease, handsOver);
    if (isOrphan) this.#notifier.note(ORPHANS);
    return isOrphan;
  }

  async append(batch: Append, changes: IndexChanges | undefined): Promise<StoredBatch> {
    const stored = await this.#committer.append(batch, changes);
    this.#watcher.noteOwn(batch.sessionId, stored);
    if (this.#options.limits.maxOwnerBytes === Infinity) return { isOverQuota: false };
    const bytes = batch.entries.reduce((sum, { text }) => sum + text.length, 0);
    return { isOverQuota: this.#quota.isFull(stored.owner, bytes) };
  }

  async submit(submission: CommandSubmission): Promise<CommandRow> {
    return this.#change((transaction) => submitCommand(transaction, submission));
  }

  async setBlobUsage(sessionId: string, { blobs, bytes }: BlobUsage): Promise<void> {
    await this.#change(async (transaction) => {
      const head = assertSession(await lockSession(transaction, sessionId), sessionId);
      const more = { blobs: blobs - head.blobs, blobBytes: bytes - head.blobBytes };
      await this.#quota.assertRoom(transaction, fromColumn(head.owner), more);
      const sql = "UPDATE @.sessions SET blobs = $2, blob_bytes = $3 WHERE key = $1";
      await transaction.query(sql, [head.key, blobs, bytes]);
    });
  }

  async saveSnapshot(sessionId: string, { key, eventId, state }: EncoderSnapshot): Promise<void> {
    const { maxSessionSnapshotBytes } = this.#options.limits;
    await this.#db.transact(async ({ query }) => {
      const values = [toColumn(sessionId), toColumn(key), eventId, state];
      const [row] = await query<{ session: number }>(SAVE_SNAPSHOT, values);
      if (row !== undefined) await query(TRIM_SNAPSHOTS, [row.session, maxSessionSnapshotBytes]);
    });
  }

  async clean(settledBefore: number): Promise<void> {
    await discardAbandoned(this.#db);
    await dropCommands(this.#db, settledBefore);
    await dropActors(this.#db);
  }

  #change<T>(work: (transaction: LogTransaction) => Promise<T>): Promise<T> {
    return this.#db.transact((transaction) => work({ ...transaction, quota: this.#quota }));
  }

  onChange(sessionId: string): void {
    this.#notifier.note(sessionId);
  }

  startWatching(): void {
    if (!this.#isClosed) this.#watcher.start();
  }

  async close(whenIdle: () => Promise<void>): Promise<void> {
    this.#isClosed = true;
    this.#watcher.stop();
    if (this.#db.fault !== undefined) this.#db.stopWaiting();
    await whenIdle();
    await this.#notifier.close();
    this.monitor.close();
    if (this.#options.ownsDatabase) await this.#db.close();
  }
}
