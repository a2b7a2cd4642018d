/**
 * A log in a SQLite file, the default store. A worker thread writes and syncs; this thread reads. Several processes may
 * share the file. Readers of sessions written by this process get new records from memory after the commit; changes by
 * other processes are found by polling the file.
 */
import { randomInt } from "node:crypto";
import { resolve } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { isLoomError, LoomError } from "../../protocol/index.ts";
import { BoundedMap } from "../../protocol/bounded-map.ts";
import { clearCommitMark } from "../../sqlite/commit-mark.ts";
import { GroupWriter } from "../../sqlite/group-writer.ts";
import { QueryThread } from "../../sqlite/query-thread.ts";
import { assertBatch, assertCarried } from "../entry.ts";
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
  PagingOptions,
  ListSessionsOptions,
  Log,
  LogEntry,
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
import { pruneRuns } from "../prune-runs.ts";
import { releaseLease } from "../release-lease.ts";
import {
  assertCommand,
  assertInterrupt,
  assertFirstId,
  assertLineage,
  assertName,
  assertSessionId,
  assertOwner,
  assertDuration,
  assertText,
  assertTitle,
  assertChanges,
  clampListLimit,
  sessionExists,
  SETTLED_COMMANDS_MS,
} from "../rules.ts";
import { type CommandRow, describeCommand, lineageOf, toNewCommand } from "../stored-rows.ts";
import { toCarriedRows } from "./carried-rows.ts";
import { ChangePoller } from "./change-poller.ts";
import { type StoreConnectionOptions, prepareStore } from "./connection.ts";
import { isRepeatable, lengthOf, packGroup, type StoreOperation, type WriterData } from "./operations.ts";
import { createPruner } from "./retention-rows.ts";
import type { SearchData, SearchQuery } from "./search-thread.ts";
import type { SqliteLogOptions } from "./sqlite-log-options.ts";
import { StoreMonitor } from "./store-monitor.ts";
import { StoreReader } from "./store-reader.ts";
import { PAUSE_MS, writeDraft } from "./write-draft.ts";

const MAX_CHECK_BYTES = 32 * 1024 * 1024;
const MAX_QUEUE_BYTES = 256 * 1024 * 1024;
const MAX_RECENT_ROWS = 4096;
/** Maximum number of sessions whose current run and lease are cached. */
const MAX_SESSIONS = 10_000;

const SEARCH_TIMEOUT_MS = 2000;
/** Time after the first lease, so that programs that end soon do not wait for a sweep. */
const FIRST_SWEEP_MS = 1000;
const MAX_PAUSE_MS = 100;
const MAX_WAITING_SEARCHES = 1000;

// TypeScript in the repository, JavaScript in the published package.
const EXTENSION = import.meta.url.endsWith(".ts") ? ".ts" : ".js";
const WRITER_THREAD = new URL(`./writer-thread${EXTENSION}`, import.meta.url);
const SEARCH_THREAD = new URL(`./search-thread${EXTENSION}`, import.meta.url);

type CreateEntries = NonNullable<CreateOptions["entries"]>;

/** Opens a store; see `open-sqlite-log.ts`. */
export async function openSqliteLog(path: string, options: SqliteLogOptions = {}): Promise<SqliteLog> {
  const { busyTimeoutMs = 10_000, maxFileBytes } = options;
  const { maxCheckBytes = MAX_CHECK_BYTES, maxQueueBytes = MAX_QUEUE_BYTES, maxRecentRows = MAX_RECENT_ROWS } = options;
  const connection = { busyTimeoutMs, maxFileBytes, maxCheckBytes, maxQueueBytes, maxRecentRows };
  if (path === "") throw new LoomError("store_failed", "The path of a store must not be empty");
  // Resolved now, because the file is opened again later and the working directory may change.
  const absolutePath = resolve(path);
  const file = prepareStore(absolutePath, connection);
  return new SqliteLog(absolutePath, file, connection, options);
}

/** A log in a SQLite file, opened by `openSqliteLog`. */
class SqliteLog implements Log {
  readonly limits: LogLimits;
  readonly #path: string;
  readonly #now: () => number;
  readonly #writer: GroupWriter<StoreOperation>;
  readonly #reader: StoreReader;
  readonly #searches: QueryThread;
  readonly #monitor: StoreMonitor;
  readonly #feed: Feed;
  readonly #poller: ChangePoller;
  readonly #runs = new KnownRuns(MAX_SESSIONS);
  /** Latest lease of each session; its epoch belongs to one incarnation. */
  readonly #leases = new BoundedMap<Lease>(MAX_SESSIONS);
  readonly #pruner = createPruner({
    reader: () => this.#openReader(),
    write: async (operation) => this.#write(operation),
    now: () => this.#now(),
  });
  #isSavingSnapshot = false;
  /** The first sweep of this process, for rows that earlier processes left. */
  #firstSweep: NodeJS.Timeout | undefined;
  #closed = false;

  /** @internal */
  constructor(path: string, file: string, connection: StoreConnectionOptions, options: SqliteLogOptions) {
    const { limits = {}, now = Date.now, pollMs = 20, meter } = options;
    this.limits = { ...LOG_LIMITS, ...limits };
    this.#path = path;
    this.#now = now;
    // A random number of up to 48 bits, which SQLite and JavaScript both store exactly.
    const writerId = randomInt(2 ** 48 - 1);
    const writer = {
      thread: WRITER_THREAD,
      data: { path, file, writer: writerId, options: connection, quotas: pickQuotas(this.limits) } satisfies WriterData,
      maxQueueBytes: connection.maxQueueBytes,
      lengthOf,
      pack: packGroup,
      isRepeatable,
    };
    this.#reader = new StoreReader(path, file, connection, this.limits, now, meter);
    this.#searches = new QueryThread({
      thread: SEARCH_THREAD,
      data: { path, file, options: connection, limits: this.limits } satisfies SearchData,
      timeoutMs: options.searchTimeoutMs ?? SEARCH_TIMEOUT_MS,
      maxWaiting: options.maxWaitingSearches ?? MAX_WAITING_SEARCHES,
    });
    this.#feed = new Feed(this.limits.maxFeedBytes, this.limits);
    this.#poller = new ChangePoller({ reader: this.#reader, feed: this.#feed, writer: writerId, pollMs });
    this.#writer = new GroupWriter({ ...writer, onFailure: (error) => this.#monitor.setFailure(error) });
    this.#monitor = new StoreMonitor({
      path,
      reader: this.#reader,
      writer: this.#writer,
      countFeedBytes: () => this.#feed.bytes,
      meter,
    });
  }

  get monitor(): LogMonitor {
    return this.#monitor;
  }

  async createSession(sessionId: string, options: CreateOptions = {}): Promise<SessionInfo> {
    const { title, owner, isPinned, isArchived, firstId = 1, entries, graceMs = 0 } = options;
    assertDuration(graceMs);
    assertSessionId(sessionId);
    assertFirstId(firstId);
    assertChanges(options);
    assertOwner(owner);
    assertLineage(options);
    const lineage = lineageOf(sessionId, options);
    assertCarried(sessionId, options, this.limits);
    const carried = toCarriedRows(options.carried ?? []);
    const fresh = { sessionId, title, owner, isPinned, isArchived, firstId, graceMs, lineage, carried };
    if (entries === undefined) await this.#write({ do: "create", ...fresh, now: this.#now() });
    else await this.#writeDraft(sessionId, entries, options);
    return this.#describe(sessionId);
  }

  async #writeDraft(sessionId: string, entries: CreateEntries, options: CreateOptions): Promise<void> {
    const write = <T>(operation: StoreOperation): Promise<T> => this.#write<T>(operation);
    try {
      if (this.#openReader().findSession(sessionId) !== undefined) throw sessionExists(sessionId);
      await writeDraft({ limits: this.limits, now: this.#now, write }, sessionId, entries, options);
      this.#feed.hint(sessionId);
    } catch (error) {
      this.#sweep().catch(() => undefined);
      throw error;
    }
  }

  async getSession(sessionId: string): Promise<SessionInfo | undefined> {
    return this.#openReader().findSession(sessionId);
  }

  async listSessions(options: ListSessionsOptions = {}): Promise<readonly SessionInfo[]> {
    return this.#openReader().listSessions(options);
  }

  async listActiveSessions(options: ListActiveSessionsOptions = {}): Promise<readonly ActiveSession[]> {
    return this.#openReader().listActiveSessions(options);
  }

  async searchSessions({ signal, ...options }: SearchSessionsOptions): Promise<readonly FoundSession[]> {
    return this.#searches.ask({ options, now: this.#now() } satisfies SearchQuery, signal);
  }

  async listBranches(sessionId: string, options: ListBranchesOptions = {}): Promise<readonly SessionInfo[]> {
    return this.#openReader().listBranches(sessionId, options);
  }

  async updateSession(
    sessionId: string,
    changes: SessionChanges,
    { ifTitle }: UpdateSessionOptions = {},
  ): Promise<SessionInfo> {
    assertText("session", sessionId);
    assertChanges(changes);
    assertTitle(ifTitle);
    const { title, isPinned, isArchived } = changes;
    await this.#write({ do: "update", sessionId, title, isPinned, isArchived, ifTitle });
    return this.#describe(sessionId);
  }

  async deleteSession(sessionId: string, { epoch }: { readonly epoch?: number } = {}): Promise<boolean> {
    assertText("session", sessionId);
    const known = await this.#write<boolean>({ do: "delete", sessionId, epoch });
    this.#feed.forget(sessionId);
    // The session is already gone; its rows are deleted in the background.
    this.#sweep().catch(() => undefined);
    return known;
  }

  async listOrphans(options: PagingOptions = {}): Promise<readonly string[]> {
    return this.#openReader().listOrphans(options);
  }

  async acquire(sessionId: string, options: AcquireOptions): Promise<AcquiredLease> {
    const { holder, ttlMs, takeover = false, create = true } = options;
    if (create) assertSessionId(sessionId);
    else assertText("session", sessionId);
    assertName("holder", holder);
    assertDuration(ttlMs);
    const now = this.#now();
    this.#firstSweep ??= setTimeout(() => void this.#sweep().catch(() => undefined), FIRST_SWEEP_MS).unref();
    type Granted = Lease & Pick<AcquiredLease, "wasHandedOver">;
    const lease = await this.#write<Granted>({ do: "acquire", sessionId, holder, ttlMs, takeover, create, now });
    // Another process may have written or recreated the session, so new records must not be joined to those in memory.
    this.#leases.set(sessionId, lease);
    this.#feed.forget(sessionId);
    try {
      return { ...lease, ...this.#openReader().readWriterState(sessionId) };
    } catch (error) {
      await releaseLease(this, lease);
      throw error;
    }
  }

  async renew({ sessionId, epoch }: Lease, ttlMs: number): Promise<Lease> {
    assertText("session", sessionId);
    assertDuration(ttlMs);
    return this.#write<Lease>({ do: "renew", sessionId, epoch, ttlMs, now: this.#now() });
  }

  async release({ sessionId, epoch }: Lease, { handsOver = false }: ReleaseOptions = {}): Promise<void> {
    assertText("session", sessionId);
    await this.#write({ do: "release", sessionId, epoch, handsOver });
    this.#feed.hint(sessionId);
  }

  async append(batch: Append): Promise<AppendResult> {
    assertBatch(batch, this.limits);
    const { sessionId, epoch, expectedLastId, entries, settle } = batch;
    const count = entries.length;
    const text = count === 1 ? (entries[0]?.text ?? "") : entries.map((entry) => entry.text).join("\n");
    const changes = this.#runs.omitKnown(batch, findIndexChanges(entries));
    const now = settle === undefined ? 0 : this.#now();
    const isOverQuota = await this.#write<true | undefined>({
      do: "append",
      sessionId,
      epoch,
      expectedLastId,
      count,
      text,
      changes,
      settle,
      now,
    });
    const lastId = expectedLastId + count;
    this.#runs.note(batch, changes);
    const lease = this.#leases.get(sessionId);
    // Without a lease the incarnation is unknown, so followers read the store.
    if (count > 0 && lease?.epoch === epoch)
      this.#feed.publish(new Page(sessionId, expectedLastId, lastId, text, lease.incarnation));
    else this.#feed.hint(sessionId);
    return isOverQuota === true ? { lastId, isOverQuota } : { lastId };
  }

  async read(sessionId: string, options: ReadOptions): Promise<Page> {
    return this.#openReader().readPage(sessionId, options);
  }

  async readCarried(sessionId: string): Promise<readonly LogEntry[]> {
    return this.#openReader().readCarried(sessionId);
  }

  peek(sessionId: string, after: number): Page | undefined {
    return this.#feed.peek(sessionId, after);
  }

  watch(sessionId: string, listener: () => void, options?: WatchSessionOptions): () => void {
    const unwatch = this.#feed.watch(sessionId, listener, options);
    if (!this.#closed) this.#poller.start();
    return () => {
      unwatch();
      if (this.#feed.size === 0) this.#poller.stop();
    };
  }

  async getRun(sessionId: string, runId: string): Promise<RunInfo | undefined> {
    return this.#openReader().findRun(sessionId, runId);
  }

  async listRuns(sessionId: string, options: PagingOptions = {}): Promise<readonly RunInfo[]> {
    return this.#openReader().listRuns(sessionId, options);
  }

  async findFoldStart(sessionId: string, id: number): Promise<number> {
    return this.#openReader().findFoldStart(sessionId, id);
  }

  async findSnapshot(sessionId: string, key: string, id: number): Promise<EncoderSnapshot | undefined> {
    return this.#openReader().findSnapshot(sessionId, key, id);
  }

  /** One at a time: snapshots must not fill the write queue. */
  async saveSnapshot(sessionId: string, snapshot: EncoderSnapshot): Promise<void> {
    if (this.#isSavingSnapshot) return;
    this.#isSavingSnapshot = true;
    const { maxSessionSnapshotBytes: maxBytes } = this.limits;
    try {
      await this.#write({ do: "save-snapshot", sessionId, snapshot, maxBytes });
    } finally {
      this.#isSavingSnapshot = false;
    }
  }

  async getLandmark(sessionId: string, kind: LandmarkKind, key: string): Promise<Landmark | undefined> {
    return this.#openReader().findLandmark(sessionId, kind, key);
  }

  async listLandmarks(
    sessionId: string,
    kind: LandmarkKind,
    limit?: number,
    before?: number,
  ): Promise<readonly Landmark[]> {
    return this.#openReader().listLandmarks(sessionId, kind, clampListLimit(limit), before);
  }

  async submit(command: Command, options: SubmitOptions = {}): Promise<CommandState> {
    assertCommand(command, this.limits);
    assertInterrupt(command, options, this.limits);
    const { owner, create, interrupt, maxQueued, onlyIfIdle } = options;
    assertTitle(create?.title);
    assertOwner(create?.owner);
    const { sessionId } = command;
    if (create !== undefined) assertSessionId(sessionId);
    const row = await this.#write<CommandRow>({
      do: "submit",
      sessionId,
      ...toNewCommand(command),
      now: this.#now(),
      room: { maxPending: this.limits.maxPendingCommands, maxQueued, onlyIfIdle },
      owner,
      create,
      interrupt: interrupt === undefined ? undefined : toNewCommand(interrupt),
    });
    this.#feed.hint(sessionId);
    return describeCommand(sessionId, row);
  }

  async getCommand(sessionId: string, commandId: string): Promise<CommandState | undefined> {
    return this.#openReader().findCommand(sessionId, commandId);
  }

  async listSessionsOfCommand(commandId: string, owner?: string): Promise<readonly string[]> {
    return this.#openReader().listSessionsOfCommand(commandId, owner);
  }

  async listPending(sessionId: string, limit?: number): Promise<readonly CommandState[]> {
    return this.#openReader().listPending(sessionId, clampListLimit(limit));
  }

  async setBlobUsage(sessionId: string, { blobs, bytes }: BlobUsage): Promise<void> {
    assertText("session", sessionId);
    await this.#write({ do: "set-blob-usage", sessionId, blobs, bytes });
  }

  async prune(policy: RetentionPolicy): Promise<PruneReport> {
    const { now = this.#now(), maxAgeMs = SETTLED_COMMANDS_MS } = policy;
    const report = await pruneRuns(this, this.#pruner, policy, now);
    while (await this.#write<boolean>({ do: "drop-commands", before: now - maxAgeMs })) await pause(PAUSE_MS);
    await this.#sweep();
    await this.#write({ do: "scrub" });
    return report;
  }

  async close(): Promise<void> {
    this.#closed = true;
    clearTimeout(this.#firstSweep);
    this.#poller.stop();
    this.#feed.close();
    this.#monitor.close();
    await Promise.all([this.#writer.close(), this.#searches.close()]);
    this.#reader.close();
    clearCommitMark(this.#path);
  }

  async #write<T>(operation: StoreOperation): Promise<T> {
    try {
      return await this.#monitor.write<T>(operation);
    } catch (error) {
      // The writer may have failed after the commit; polling does not find the commits of this log.
      if (isLoomError(error, "store_failed") && "sessionId" in operation) this.#feed.hint(operation.sessionId);
      throw error;
    }
  }

  /** Deletes rows that can no longer be read. If it fails, the next sweep continues. */
  async #sweep(): Promise<void> {
    for (let startedAt = performance.now(); await this.#write<boolean>({ do: "sweep", now: this.#now() });) {
      // Other processes poll for the lock of the store, so the pause is as long as the transaction.
      await pause(Math.max(PAUSE_MS, Math.min(performance.now() - startedAt, MAX_PAUSE_MS)));
      startedAt = performance.now();
    }
  }

  #describe(sessionId: string): SessionInfo {
    const session = this.#openReader().findSession(sessionId);
    if (session === undefined)
      throw new LoomError("unknown_session", `Session "${sessionId}" was deleted in the meantime`);
    return session;
  }

  #openReader(): StoreReader {
    if (this.#closed) throw new LoomError("store_closed", "The log is closed");
    return this.#reader;
  }
}

export type { SqliteLog };
