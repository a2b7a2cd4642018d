/**
 * A log in PostgreSQL, for several machines. Every process is equal: it writes through a group committer, reads with
 * single statements, and follows what others write by notifications and polls. The database decides who may write a
 * session and when a lease has ended.
 */
import { randomUUID } from "node:crypto";
import { migratePostgres } from "../../postgres/migrate.ts";
import { openPostgres, type PostgresDatabase } from "../../postgres/postgres-database.ts";
import { BoundedMap } from "../../protocol/bounded-map.ts";
import { LoomError } from "../../protocol/loom-error.ts";
import { assertBatch, assertCarried, measureEntries } from "../entry.ts";
import { Feed } from "../feed.ts";
import { findIndexChanges } from "../index-changes.ts";
import { KnownRuns } from "../known-runs.ts";
import type { LogMonitor } from "../log-monitor.ts";
import type {
  AcquiredLease,
  AcquireOptions,
  ActiveSession,
  Append,
  AppendResult,
  BlobUsage,
  Command,
  CommandState,
  CreateOptions,
  EncoderSnapshot,
  FoundSession,
  Landmark,
  LandmarkKind,
  Lease,
  ListActiveSessionsOptions,
  ListBranchesOptions,
  ListSessionsOptions,
  Log,
  LogEntry,
  PagingOptions,
  ReadOptions,
  ReleaseOptions,
  RunInfo,
  SearchSessionsOptions,
  SessionChanges,
  SessionInfo,
  SubmitOptions,
  UpdateSessionOptions,
  WatchSessionOptions,
} from "../log.ts";
import { LOG_LIMITS, type LogLimits } from "../log-limits.ts";
import type { PruneReport, RetentionPolicy } from "../retention-policy.ts";
import { pickQuotas } from "../owner-quota.ts";
import { Page } from "../page.ts";
import {
  assertCommand,
  assertDuration,
  assertFirstId,
  assertInterrupt,
  assertLineage,
  assertName,
  assertOwner,
  assertSessionId,
  assertText,
  assertTitle,
  assertChanges,
  clampListLimit,
  sessionExists,
  unknownSession,
} from "../rules.ts";
import { describeCommand, toNewCommand } from "../stored-rows.ts";
import { listActiveSessions } from "./active-sessions.ts";
import { assertEpoch } from "./append-one.ts";
import { ChangeNotifier } from "./change-notifier.ts";
import { ChangeWatcher } from "./change-watcher.ts";
import { DatabaseMonitor } from "./database-monitor.ts";
import { deleteRows } from "./delete-rows.ts";
import { GroupCommitter } from "./group-committer.ts";
import { writeTexts } from "./index-rows.ts";
import { endLease, grantLease, isHandedOver } from "./lease-rows.ts";
import { LeaseRenewer } from "./lease-renewer.ts";
import { LogReader } from "./log-reader.ts";
import { OwnerQuota } from "./owner-usage.ts";
import type { PostgresLogOptions } from "./postgres-log-options.ts";
import { pruneLog } from "./retention-rows.ts";
import { LOG_FORMAT } from "./schema.ts";
import { SearchQueue } from "../../postgres/search-queue.ts";
import { searchSessions } from "./search-sessions.ts";
import { assertSession, lockSession, openSession } from "./session-rows.ts";
import { saveSnapshot } from "./snapshot-rows.ts";
import { changeSession, submitCommand } from "./submit-command.ts";
import { fromColumn } from "../../postgres/text-column.ts";
import { discardAbandoned, writeDraft } from "./write-draft.ts";

const MAX_QUEUE_BYTES = 256 * 1024 * 1024;
/** Maximum number of sessions whose current run and lease are cached. */
const MAX_SESSIONS = 10_000;
const SEARCH_TIMEOUT_MS = 2000;
const MAX_WAITING_SEARCHES = 1000;
const POLL_MS = 1000;
const NOTIFY_MS = 2;

/** Opens a log; see `open-postgres-log.ts`. With a URL it closes its connections, and a given database stays open. */
export async function openPostgresLog(
  database: string | PostgresDatabase,
  options: PostgresLogOptions = {},
): Promise<PostgresLog> {
  const ownsDatabase = typeof database === "string";
  const db = ownsDatabase ? await openPostgres(database, options) : database;
  try {
    await migratePostgres(db, LOG_FORMAT);
    return new PostgresLog(db, options, ownsDatabase);
  } catch (error) {
    if (ownsDatabase) await db.close();
    throw error;
  }
}

/** A log in PostgreSQL, opened by `openPostgresLog`. */
class PostgresLog implements Log {
  readonly limits: LogLimits;
  readonly #db: PostgresDatabase;
  readonly #options: PostgresLogOptions;
  readonly #ownsDatabase: boolean;
  readonly #committer: GroupCommitter;
  readonly #reader: LogReader;
  readonly #renewer: LeaseRenewer;
  readonly #quota: OwnerQuota;
  readonly #searches: SearchQueue;
  readonly #monitor: DatabaseMonitor;
  readonly #feed: Feed;
  readonly #notifier: ChangeNotifier;
  readonly #watcher: ChangeWatcher;
  readonly #runs = new KnownRuns(MAX_SESSIONS);
  /** Latest lease of each session; its epoch belongs to one incarnation. */
  readonly #leases = new BoundedMap<Lease>(MAX_SESSIONS);
  readonly #calls = new Set<Promise<unknown>>();
  #isSavingSnapshot = false;
  #closing: Promise<void> | undefined;

  /** @internal */
  constructor(db: PostgresDatabase, options: PostgresLogOptions, ownsDatabase: boolean) {
    const { pollMs = POLL_MS, notifyMs = NOTIFY_MS, maxQueueBytes = MAX_QUEUE_BYTES } = options;
    this.#db = db;
    this.#options = options;
    this.#ownsDatabase = ownsDatabase;
    this.limits = { ...LOG_LIMITS, ...options.limits };
    this.#reader = new LogReader(db, this.limits, this.#now);
    this.#renewer = new LeaseRenewer(db, this.#now);
    this.#committer = new GroupCommitter({ db, now: this.#now, maxQueueBytes });
    this.#quota = new OwnerQuota(db, pickQuotas(this.limits));
    const { searchTimeoutMs = SEARCH_TIMEOUT_MS, maxWaitingSearches = MAX_WAITING_SEARCHES } = options;
    this.#searches = new SearchQueue(searchTimeoutMs, maxWaitingSearches);
    this.#feed = new Feed(this.limits.maxFeedBytes, this.limits);
    const writer = randomUUID();
    this.#notifier = new ChangeNotifier(db, writer, notifyMs);
    const measure = () => ({ ...this.#committer.load, feedBytes: this.#feed.bytes });
    this.#monitor = new DatabaseMonitor({ db, measure });
    this.#watcher = new ChangeWatcher({ db, feed: this.#feed, writer, pollMs, onDeaf: this.#monitor.onDeaf });
  }

  get monitor(): LogMonitor {
    return this.#monitor;
  }

  /** Null: the clock of the database. */
  readonly #now = (): number | null => this.#options.now?.() ?? null;

  async createSession(sessionId: string, options: CreateOptions = {}): Promise<SessionInfo> {
    const { title, owner, firstId = 1, entries, graceMs = 0, ...rest } = options;
    assertDuration(graceMs);
    assertSessionId(sessionId);
    assertFirstId(firstId);
    assertChanges(options);
    assertOwner(owner);
    assertLineage(options);
    assertCarried(sessionId, options, this.limits);
    return this.#write(async () => {
      if (entries === undefined)
        await this.#db.transact(async (transaction) => {
          const fresh = { ...rest, firstId, graceMs, sessionId, ...(title === undefined ? {} : { title }) };
          const owned = owner === undefined ? fresh : { ...fresh, owner };
          const { head, isNew } = await openSession(transaction, this.#now(), owned, async (payer) =>
            this.#quota.assertRoom(transaction, payer, { sessions: 1, bytes: measureEntries(rest.carried ?? []) }),
          );
          if (!isNew || title === undefined) return;
          const session = { key: head.key, owner: fromColumn(head.owner) };
          await writeTexts(transaction, [{ session, eventId: 0, text: title }]);
        });
      else {
        if ((await this.#reader.findSession(sessionId)) !== undefined) throw sessionExists(sessionId);
        const context = { db: this.#db, now: this.#now, limits: this.limits, quota: this.#quota };
        await writeDraft(context, sessionId, entries, options);
      }
      this.#changed(sessionId);
      return this.#describe(sessionId);
    });
  }

  async getSession(sessionId: string): Promise<SessionInfo | undefined> {
    return this.#read(() => this.#reader.findSession(sessionId));
  }

  async listSessions(options: ListSessionsOptions = {}): Promise<readonly SessionInfo[]> {
    return this.#read(() => this.#reader.listSessions(options));
  }

  async searchSessions(options: SearchSessionsOptions): Promise<readonly FoundSession[]> {
    assertOwner(options.owner);
    const { searchTimeoutMs: timeoutMs = SEARCH_TIMEOUT_MS } = this.#options;
    const search = { db: this.#db, now: this.#now(), timeoutMs };
    return this.#read(() => this.#searches.run(() => searchSessions(search, options), options.signal));
  }

  async listBranches(sessionId: string, options: ListBranchesOptions = {}): Promise<readonly SessionInfo[]> {
    return this.#read(() => this.#reader.listBranches(sessionId, options));
  }

  async updateSession(
    sessionId: string,
    changes: SessionChanges,
    options: UpdateSessionOptions = {},
  ): Promise<SessionInfo> {
    assertText("session", sessionId);
    assertChanges(changes);
    assertTitle(options.ifTitle);
    return this.#write(async () => {
      const asked = { ...changes, ...options };
      await this.#db.transact((transaction) => changeSession(transaction, this.#now(), sessionId, asked));
      return this.#describe(sessionId);
    });
  }

  async deleteSession(sessionId: string, { epoch }: { readonly epoch?: number } = {}): Promise<boolean> {
    assertText("session", sessionId);
    return this.#write(async () => {
      await this.#committer.drain(sessionId);
      const isKnown = await this.#db.transact(async (transaction) => {
        const head = await lockSession(transaction, this.#now(), sessionId);
        // An earlier attempt has deleted it, if its answer was lost.
        if (head === undefined) return transaction.attempt > 0;
        if (epoch !== undefined) assertEpoch(head, sessionId, epoch);
        await deleteRows(transaction, head.key);
        return true;
      });
      this.#feed.forget(sessionId);
      this.#notifier.note(sessionId);
      return isKnown;
    });
  }

  async listActiveSessions(options: ListActiveSessionsOptions = {}): Promise<readonly ActiveSession[]> {
    return this.#read(() => listActiveSessions(this.#db, this.#now(), options));
  }

  async listOrphans(options: PagingOptions = {}): Promise<readonly string[]> {
    return this.#read(() => this.#reader.listOrphans(options));
  }

  async acquire(sessionId: string, options: AcquireOptions): Promise<AcquiredLease> {
    const { holder, ttlMs, takeover = false, create = true } = options;
    if (create) assertSessionId(sessionId);
    else assertText("session", sessionId);
    assertName("holder", holder);
    assertDuration(ttlMs);
    this.#db.leaseMs = ttlMs;
    const token = randomUUID();
    return this.#write(async () => {
      await this.#committer.drain(sessionId);
      let wasHandedOver = false;
      const lease = await this.#db.transact(async (transaction) => {
        const now = this.#now();
        const { head } = create
          ? await openSession(transaction, now, { sessionId }, async (payer) =>
              this.#quota.assertRoom(transaction, payer, { sessions: 1 }),
            )
          : { head: assertSession(await lockSession(transaction, now, sessionId), sessionId) };
        const { recoveryMs } = this.#db;
        wasHandedOver = isHandedOver(head, token) ?? wasHandedOver;
        return grantLease(transaction, now, sessionId, head, { holder, ttlMs, takeover, token, recoveryMs });
      });
      // Another process may have written or recreated the session, so new records must not be joined to those in memory.
      this.#leases.set(sessionId, lease);
      this.#feed.forget(sessionId);
      this.#notifier.note(sessionId);
      return { ...lease, wasHandedOver };
    });
  }

  async renew(lease: Lease, ttlMs: number): Promise<Lease> {
    assertText("session", lease.sessionId);
    assertDuration(ttlMs);
    return this.#write(() => this.#renewer.renew(lease, ttlMs));
  }

  async release(lease: Lease, options: ReleaseOptions = {}): Promise<void> {
    assertText("session", lease.sessionId);
    return this.#write(async () => {
      await this.#committer.drain(lease.sessionId);
      const isOrphan = await endLease(this.#db, lease, options);
      this.#changed(lease.sessionId);
      if (isOrphan) this.#notifier.noteOrphan();
      if (isOrphan) this.#feed.hintOrphans();
    });
  }

  watchOrphans(listener: () => void): () => void {
    const unwatch = this.#feed.watchOrphans(listener);
    if (this.#closing === undefined) this.#watcher.start();
    return unwatch;
  }

  async waitLonger<T>(work: () => Promise<T>): Promise<T> {
    return this.#db.waitLonger(work);
  }

  async append(batch: Append): Promise<AppendResult> {
    assertBatch(batch, this.limits);
    return this.#call("append", async () => {
      const { sessionId, epoch, expectedLastId, entries } = batch;
      const changes = this.#runs.omitKnown(batch, findIndexChanges(entries));
      const stored = await this.#committer.append(batch, changes);
      this.#runs.note(batch, changes);
      const lastId = expectedLastId + entries.length;
      this.#watcher.noteOwn(sessionId, stored);
      const lease = this.#leases.get(sessionId);
      // Without a lease the incarnation is unknown, so followers read the database.
      if (entries.length > 0 && lease?.epoch === epoch && this.#feed.isWatched(sessionId)) {
        const texts = entries.map(({ text }) => text);
        this.#feed.publish(new Page(sessionId, expectedLastId, lastId, texts, lease.incarnation));
      } else this.#feed.hint(sessionId);
      this.#notifier.note(sessionId);
      if (this.limits.maxOwnerBytes === Infinity) return { lastId };
      const bytes = entries.reduce((sum, { text }) => sum + text.length, 0);
      return (await this.#quota.isFull(stored.owner, bytes)) ? { lastId, isOverQuota: true } : { lastId };
    });
  }

  async read(sessionId: string, options: ReadOptions): Promise<Page> {
    return this.#read(() => this.#reader.readPage(sessionId, options));
  }

  async readCarried(sessionId: string): Promise<readonly LogEntry[]> {
    return this.#read(() => this.#reader.readCarried(sessionId));
  }

  peek(sessionId: string, after: number): Page | undefined {
    return this.#feed.peek(sessionId, after);
  }

  watch(sessionId: string, listener: () => void, options?: WatchSessionOptions): () => void {
    const unwatch = this.#feed.watch(sessionId, listener, options);
    if (this.#closing === undefined) this.#watcher.start();
    return unwatch;
  }

  async getRun(sessionId: string, runId: string): Promise<RunInfo | undefined> {
    return this.#read(() => this.#reader.findRun(sessionId, runId));
  }

  async listRuns(sessionId: string, options: PagingOptions = {}): Promise<readonly RunInfo[]> {
    return this.#read(() => this.#reader.listRuns(sessionId, options));
  }

  async findFoldStart(sessionId: string, id: number): Promise<number> {
    return this.#read(() => this.#reader.findFoldStart(sessionId, id));
  }

  async findSnapshot(sessionId: string, key: string, id: number): Promise<EncoderSnapshot | undefined> {
    return this.#read(() => this.#reader.findSnapshot(sessionId, key, id));
  }

  /** One at a time: snapshots must not take all connections. */
  async saveSnapshot(sessionId: string, snapshot: EncoderSnapshot): Promise<void> {
    if (this.#isSavingSnapshot) return;
    this.#isSavingSnapshot = true;
    try {
      await this.#write(() => saveSnapshot(this.#db, sessionId, snapshot, this.limits.maxSessionSnapshotBytes));
    } finally {
      this.#isSavingSnapshot = false;
    }
  }

  async getLandmark(sessionId: string, kind: LandmarkKind, key: string): Promise<Landmark | undefined> {
    return this.#read(() => this.#reader.findLandmark(sessionId, kind, key));
  }

  async listLandmarks(
    sessionId: string,
    kind: LandmarkKind,
    limit?: number,
    before?: number,
  ): Promise<readonly Landmark[]> {
    return this.#read(() => this.#reader.listLandmarks(sessionId, kind, limit, before));
  }

  async submit(command: Command, options: SubmitOptions = {}): Promise<CommandState> {
    assertCommand(command, this.limits);
    assertInterrupt(command, options, this.limits);
    const { owner, create, interrupt, maxQueued, onlyIfIdle } = options;
    assertTitle(create?.title);
    assertOwner(create?.owner);
    const { sessionId } = command;
    if (create !== undefined) assertSessionId(sessionId);
    const submission = {
      sessionId,
      command: toNewCommand(command),
      interrupt: interrupt === undefined ? undefined : toNewCommand(interrupt),
      room: { maxPending: this.limits.maxPendingCommands, maxQueued, onlyIfIdle },
      owner,
      create,
    };
    return this.#write(async () => {
      const row = await this.#db.transact((transaction) =>
        submitCommand(transaction, this.#now(), this.#quota, submission),
      );
      this.#changed(sessionId);
      return describeCommand(sessionId, row);
    });
  }

  async getCommand(sessionId: string, commandId: string): Promise<CommandState | undefined> {
    return this.#read(() => this.#reader.findCommand(sessionId, commandId));
  }

  async listSessionsOfCommand(commandId: string, owner?: string): Promise<readonly string[]> {
    return this.#read(() => this.#reader.listSessionsOfCommand(commandId, owner));
  }

  async listPending(sessionId: string, limit?: number): Promise<readonly CommandState[]> {
    return this.#read(() => this.#reader.listPending(sessionId, clampListLimit(limit)));
  }

  async setBlobUsage(sessionId: string, { blobs, bytes }: BlobUsage): Promise<void> {
    assertText("session", sessionId);
    return this.#write(() =>
      this.#db.transact(async (transaction) => {
        const head = assertSession(await lockSession(transaction, this.#now(), sessionId), sessionId);
        const more = { blobs: blobs - head.blobs, blobBytes: bytes - head.blobBytes };
        await this.#quota.assertRoom(transaction, fromColumn(head.owner), more);
        const sql = "UPDATE @.sessions SET blobs = $2, blob_bytes = $3 WHERE key = $1";
        await transaction.query(sql, [head.key, blobs, bytes]);
      }),
    );
  }

  async prune(policy: RetentionPolicy): Promise<PruneReport> {
    return this.#write(async () => {
      await discardAbandoned(this.#db, this.#now());
      return pruneLog(this, this.#db, this.#now, policy, (sessionId) => this.#notifier.note(sessionId));
    });
  }

  async close(): Promise<void> {
    this.#closing ??= this.#close();
    return this.#closing;
  }

  async #close(): Promise<void> {
    this.#watcher.stop();
    this.#feed.close();
    if (this.#db.fault !== undefined) this.#db.stopWaiting();
    while (this.#calls.size > 0) await Promise.allSettled(this.#calls);
    await this.#notifier.close();
    this.#monitor.close();
    if (this.#ownsDatabase) await this.#db.close();
  }

  async #read<T>(read: () => Promise<T>): Promise<T> {
    return this.#call("read", read);
  }

  async #write<T>(write: () => Promise<T>): Promise<T> {
    return this.#call("write", write);
  }

  /** Runs a call that `close` waits for. */
  async #call<T>(kind: "append" | "write" | "read", run: () => Promise<T>): Promise<T> {
    if (this.#closing !== undefined) throw new LoomError("store_closed", "The log is closed");
    const began = performance.now();
    const call = run();
    this.#calls.add(call);
    try {
      return await call;
    } finally {
      this.#calls.delete(call);
      this.#options.meter?.recordStoreCall(kind, performance.now() - began);
    }
  }

  /** Hints the watchers of a session, here and in other processes. */
  #changed(sessionId: string): void {
    this.#feed.hint(sessionId);
    this.#notifier.note(sessionId);
  }

  async #describe(sessionId: string): Promise<SessionInfo> {
    const session = await this.#reader.findSession(sessionId);
    if (session === undefined) throw unknownSession(sessionId);
    return session;
  }
}

export type { PostgresLog };
