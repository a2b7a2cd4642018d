/**
 * The log over the tables of a store: checks the arguments, notifies the readers of this process, and knows the leases and
 * runs it has written. It is the same for all stores; what must be atomic is decided in the tables.
 */
import { setImmediate as endOfTurn } from "node:timers/promises";
import { BoundedMap } from "../protocol/bounded-map.ts";
import { isLoomError, LoomError } from "../protocol/loom-error.ts";
import { assertBatch, assertCarried, createPieceCheck } from "./entry.ts";
import type { Feed } from "./feed.ts";
import { findIndexChanges, type IndexChanges } from "./index-changes.ts";
import type {
  AcquiredLease,
  AcquireOptions,
  Append,
  AppendResult,
  BlobUsage,
  Command,
  CommandState,
  CreateOptions,
  EncoderSnapshot,
  Lease,
  Log,
  ReleaseOptions,
  SessionChanges,
  SessionInfo,
  SubmitOptions,
  UpdateSessionOptions,
  WatchSessionOptions,
} from "./log.ts";
import type { LogLimits } from "./log-limits.ts";
import type { StoreMeter } from "./log-monitor.ts";
import type { Awaitable, GrantedLease, LogTables, NewSessionOptions, TableReader } from "./log-tables.ts";
import { Page } from "./page.ts";
import { pruneRuns } from "./prune-runs.ts";
import { releaseLease } from "./release-lease.ts";
import type { PruneReport, RetentionPolicy } from "./retention-policy.ts";
import {
  assertActor,
  assertChanges,
  assertCommand,
  assertDuration,
  assertFirstId,
  assertInterrupt,
  assertLineage,
  assertName,
  assertOwner,
  assertQuery,
  assertSessionId,
  assertText,
  assertTitle,
  sessionExists,
  SETTLED_COMMANDS_MS,
  assertSession,
} from "./rules.ts";
import { describeCommand, toNewCommand } from "./stored-rows.ts";

/** Maximum number of sessions whose current run and lease are cached. */
const MAX_SESSIONS = 10_000;

const NO_STARTS: IndexChanges["starts"] = [];

export interface StoreLogParts {
  readonly tables: LogTables;
  readonly feed: Feed;
  readonly limits: LogLimits;
  readonly meter?: StoreMeter | undefined;
}

export class StoreLog implements Log {
  readonly limits: LogLimits;
  readonly #tables: LogTables;
  readonly #feed: Feed;
  readonly #meter: StoreMeter | undefined;
  readonly #runs = new KnownRuns();
  /** Latest lease of each session; its epoch belongs to one incarnation. */
  readonly #leases = new BoundedMap<Pick<Lease, "epoch" | "incarnation">>(MAX_SESSIONS);
  /** Number of calls that have begun and not ended. */
  #running = 0;
  #onIdle: (() => void) | undefined;
  #isSavingSnapshot = false;
  #isClosed = false;
  #closing: Awaitable<void> | undefined;

  /** @internal */
  constructor({ tables, feed, limits, meter }: StoreLogParts) {
    this.limits = limits;
    this.#tables = tables;
    this.#feed = feed;
    this.#meter = meter;
  }

  // Reads, which the tables answer.
  getSession: Log["getSession"] = (...args) => this.#read((reader) => reader.getSession(...args));
  listBranches: Log["listBranches"] = (...args) => this.#read((reader) => reader.listBranches(...args));
  listOrphans: Log["listOrphans"] = (...args) => this.#read((reader) => reader.listOrphans(...args));
  read: Log["read"] = (...args) => this.#read((reader) => reader.read(...args));
  readCarried: Log["readCarried"] = (...args) => this.#read((reader) => reader.readCarried(...args));
  getRun: Log["getRun"] = (...args) => this.#read((reader) => reader.getRun(...args));
  listRuns: Log["listRuns"] = (...args) => this.#read((reader) => reader.listRuns(...args));
  findFoldStart: Log["findFoldStart"] = (...args) => this.#read((reader) => reader.findFoldStart(...args));
  findSnapshot: Log["findSnapshot"] = (...args) => this.#read((reader) => reader.findSnapshot(...args));
  getLandmark: Log["getLandmark"] = (...args) => this.#read((reader) => reader.getLandmark(...args));
  listLandmarks: Log["listLandmarks"] = (...args) => this.#read((reader) => reader.listLandmarks(...args));
  getCommand: Log["getCommand"] = (...args) => this.#read((reader) => reader.getCommand(...args));
  listSessionsOfCommand: Log["listSessionsOfCommand"] = (...args) =>
    this.#read((reader) => reader.listSessionsOfCommand(...args));
  listPending: Log["listPending"] = (...args) => this.#read((reader) => reader.listPending(...args));

  listSessions: Log["listSessions"] = async (options) => {
    assertOwner(options?.owner);
    return this.#read((reader) => reader.listSessions(options));
  };

  listActiveSessions: Log["listActiveSessions"] = async (options) => {
    assertOwner(options?.owner);
    return this.#read((reader) => reader.listActiveSessions(options));
  };

  searchSessions: Log["searchSessions"] = async (options) => {
    assertQuery(options?.query);
    assertOwner(options.owner);
    return this.#call("read", () => this.#tables.searchSessions(options));
  };

  async createSession(sessionId: string, options: CreateOptions = {}): Promise<SessionInfo> {
    const { entries, ...fresh } = options;
    const { firstId = 1, graceMs = 0 } = fresh;
    assertDuration(graceMs);
    assertSessionId(sessionId);
    assertFirstId(firstId);
    assertChanges(fresh);
    assertOwner(fresh.owner);
    assertLineage(fresh);
    assertCarried(sessionId, fresh, this.limits);
    assertActor(fresh.runLimit);
    const session = await this.#change(sessionId, async () => {
      if (entries === undefined) await this.#tables.createSession(sessionId, fresh);
      else await this.#writeDraft(sessionId, entries, fresh);
      return this.#describe(sessionId);
    });
    this.#notify(sessionId);
    return session;
  }

  /** Throws `session_exists` when all pieces are written; the pieces are then discarded, as after any other error. */
  async #writeDraft(
    sessionId: string,
    entries: NonNullable<CreateOptions["entries"]>,
    options: NewSessionOptions,
  ): Promise<void> {
    const { firstId = 1 } = options;
    const check = createPieceCheck(sessionId, firstId, this.limits);
    if ((await this.#tables.reader.getSession(sessionId)) !== undefined) throw sessionExists(sessionId);
    const key = await this.#tables.createDraft(options);
    let lastId = firstId - 1;
    try {
      for await (const piece of Symbol.asyncIterator in entries ? entries : [entries]) {
        check(piece);
        if (piece.length > 0) await this.#tables.extendDraft(key, lastId, piece, findIndexChanges(piece));
        lastId += piece.length;
      }
      await this.#tables.publishDraft(key, sessionId, options);
    } catch (error) {
      try {
        await this.#tables.discardDraft(key);
      } catch {
        // The store discards it later.
      }
      throw error;
    }
  }

  async updateSession(
    sessionId: string,
    changes: SessionChanges,
    { ifTitle }: UpdateSessionOptions = {},
  ): Promise<SessionInfo> {
    assertText("session", sessionId);
    assertChanges(changes);
    assertTitle(ifTitle);
    return this.#change(sessionId, async () => {
      await this.#tables.updateSession(sessionId, changes, ifTitle);
      return this.#describe(sessionId);
    });
  }

  async deleteSession(sessionId: string, { epoch }: { readonly epoch?: number } = {}): Promise<boolean> {
    assertText("session", sessionId);
    const isKnown = await this.#change(sessionId, () => this.#tables.deleteSession(sessionId, epoch));
    this.#notify(sessionId, "forget");
    return isKnown;
  }

  async acquire(sessionId: string, options: AcquireOptions): Promise<AcquiredLease> {
    const { holder, ttlMs, takeover = false, create = true } = options;
    if (create) assertSessionId(sessionId);
    else assertText("session", sessionId);
    assertName("holder", holder);
    assertDuration(ttlMs);
    const request = { holder, ttlMs, takeover, create };
    const lease = await this.#change(sessionId, async () =>
      this.#readWriterState(await this.#tables.acquire(sessionId, request)),
    );
    const { epoch, incarnation } = lease;
    this.#leases.set(sessionId, { epoch, incarnation });
    // Another process may have written or recreated the session, so new records must not be joined to those in memory.
    this.#notify(sessionId, "forget");
    return lease;
  }

  /** Reads what a new writer of the session continues from. */
  async #readWriterState(lease: GrantedLease): Promise<AcquiredLease> {
    const { sessionId } = lease;
    const { reader } = this.#tables;
    try {
      const [liveRuns, todoLists, toolPermissions, lastTs] = await Promise.all([
        reader.listLiveRuns(sessionId),
        reader.listLandmarks(sessionId, "todo_list"),
        reader.listLandmarks(sessionId, "tool_permission"),
        this.#findLastTime(lease),
      ]);
      return { ...lease, liveRuns, todoLists, toolPermissions, lastTs };
    } catch (error) {
      // By the tables: the log may be closing.
      await releaseLease({ release: async (granted) => void (await this.#tables.release(granted, false)) }, lease);
      throw error;
    }
  }

  /** Returns the time of the last record; if it was pruned, that of the end of the last run. */
  async #findLastTime({ sessionId, lastId }: Lease): Promise<number> {
    if (lastId === 0) return 0;
    try {
      const [last] = (await this.#tables.reader.read(sessionId, { after: lastId - 1, limit: 1 })).records;
      return last?.envelope.ts ?? 0;
    } catch (error) {
      if (!isLoomError(error, "evicted")) throw error;
      return (await this.#describe(sessionId)).updatedAt;
    }
  }

  async renew(lease: Lease, ttlMs: number): Promise<Lease> {
    assertText("session", lease.sessionId);
    assertDuration(ttlMs);
    return this.#change(lease.sessionId, () => this.#tables.renew(lease, ttlMs));
  }

  async release(lease: Lease, { handsOver = false }: ReleaseOptions = {}): Promise<void> {
    const { sessionId } = lease;
    assertText("session", sessionId);
    const isOrphan = await this.#change(sessionId, () => this.#tables.release(lease, handsOver));
    this.#notify(sessionId);
    if (isOrphan) this.#feed.hintOrphans();
  }

  async append(batch: Append): Promise<AppendResult> {
    assertText("session", batch.sessionId);
    assertBatch(batch, this.limits);
    const { sessionId, expectedLastId, entries } = batch;
    const changes = this.#runs.omitKnown(batch, findIndexChanges(entries));
    const stored = await this.#call("append", () => this.#tables.append(batch, changes), sessionId);
    this.#runs.note(batch, changes);
    const { isOverQuota, text } = stored;
    this.#publish(batch, text);
    const lastId = expectedLastId + entries.length;
    const isOver = typeof isOverQuota === "boolean" ? isOverQuota : await this.#hold(isOverQuota);
    return isOver ? { lastId, isOverQuota: true } : { lastId };
  }

  #publish({ sessionId, epoch, expectedLastId, entries }: Append, text: string | undefined): void {
    const lease = this.#leases.get(sessionId);
    // Without a lease the incarnation is unknown, so followers read the store.
    if (entries.length > 0 && lease?.epoch === epoch && this.#feed.isWatched(sessionId)) {
      const texts = text ?? entries.map((entry) => entry.text);
      const lastId = expectedLastId + entries.length;
      this.#feed.publish(new Page(sessionId, expectedLastId, lastId, texts, lease.incarnation));
    } else this.#feed.hint(sessionId);
    this.#tables.onChange?.(sessionId);
  }

  peek(sessionId: string, after: number): Page | undefined {
    return this.#feed.peek(sessionId, after);
  }

  watch(sessionId: string, listener: () => void, options?: WatchSessionOptions): () => void {
    const unwatch = this.#feed.watch(sessionId, listener, options);
    this.#tables.startWatching?.();
    return () => {
      unwatch();
      if (this.#feed.size === 0) this.#tables.stopWatching?.();
    };
  }

  /** One at a time: snapshots must not take the place of appends. */
  async saveSnapshot(sessionId: string, snapshot: EncoderSnapshot): Promise<void> {
    if (this.#isSavingSnapshot) return;
    this.#isSavingSnapshot = true;
    try {
      await this.#call("write", () => this.#tables.saveSnapshot(sessionId, snapshot));
    } finally {
      this.#isSavingSnapshot = false;
    }
  }

  async submit(command: Command, options: SubmitOptions = {}): Promise<CommandState> {
    assertCommand(command, this.limits);
    assertInterrupt(command, options, this.limits);
    const { owner, create, interrupt, maxQueued, onlyIfIdle, runLimit } = options;
    assertTitle(create?.title);
    assertOwner(create?.owner);
    assertActor(runLimit);
    const { sessionId } = command;
    if (create !== undefined) assertSessionId(sessionId);
    const submission = {
      sessionId,
      command: toNewCommand(command),
      interrupt: interrupt && toNewCommand(interrupt),
      room: { maxPending: this.limits.maxPendingCommands, maxQueued, onlyIfIdle },
      owner,
      create,
      runLimit,
    };
    const row = await this.#change(sessionId, () => this.#tables.submit(submission));
    this.#notify(sessionId);
    return describeCommand(sessionId, row);
  }

  async setBlobUsage(sessionId: string, usage: BlobUsage): Promise<void> {
    assertText("session", sessionId);
    return this.#change(sessionId, () => this.#tables.setBlobUsage(sessionId, usage));
  }

  async prune(policy: RetentionPolicy): Promise<PruneReport> {
    return this.#call("write", async () => {
      const { now = await this.#tables.now(), maxAgeMs = SETTLED_COMMANDS_MS } = policy;
      const report = await pruneRuns(this, this.#tables.pruner, policy, now);
      await this.#tables.clean(now - maxAgeMs);
      return report;
    });
  }

  async close(): Promise<void> {
    if (!this.#isClosed) {
      this.#isClosed = true;
      this.#feed.close();
      this.#closing = this.#tables.close(() => this.#whenIdle());
    }
    await this.#closing;
  }

  #read<T>(read: (reader: TableReader) => Awaitable<T>): Promise<T> {
    return this.#call("read", () => read(this.#tables.reader));
  }

  /** Runs a change of a session. */
  #change<T>(sessionId: string, change: () => Awaitable<T>): Promise<T> {
    return this.#call("write", change, sessionId);
  }

  /** Runs a call that `close` can wait for. */
  async #call<T>(kind: "append" | "write" | "read", run: () => Awaitable<T>, changed?: string): Promise<T> {
    if (this.#isClosed) throw new LoomError("store_closed", "The log is closed");
    const began = this.#meter === undefined ? 0 : performance.now();
    this.#running++;
    try {
      return await run();
    } catch (error) {
      // It may have been stored, and a store does not report the changes of this process.
      if (changed !== undefined && isLoomError(error, "store_failed")) this.#feed.hint(changed);
      throw error;
    } finally {
      this.#end();
      this.#meter?.recordStoreCall(kind, performance.now() - began);
    }
  }

  /** Lets `close` wait for what a call has left to do. */
  async #hold<T>(promise: Promise<T>): Promise<T> {
    this.#running++;
    try {
      return await promise;
    } finally {
      this.#end();
    }
  }

  #end(): void {
    this.#running--;
    if (this.#running === 0) this.#onIdle?.();
  }

  /** Resolves when all calls have ended, and have notified the readers. */
  async #whenIdle(): Promise<void> {
    while (this.#running > 0) {
      const { promise, resolve } = Promise.withResolvers<void>();
      this.#onIdle = resolve;
      await promise;
      await endOfTurn();
    }
  }

  /** Notifies the readers of a changed session; `forget` if its records may have changed too. */
  #notify(sessionId: string, how: "hint" | "forget" = "hint"): void {
    this.#feed[how](sessionId);
    this.#tables.onChange?.(sessionId);
  }

  async #describe(sessionId: string): Promise<SessionInfo> {
    return assertSession(await this.#tables.reader.getSession(sessionId), sessionId);
  }
}

/** Remembers the run of each session's last batch. Most batches continue that run, and need not change any index. */
class KnownRuns {
  /** Epoch and run of each session's last batch that changed an index; that run is indexed. */
  readonly #runs = new BoundedMap<string>(MAX_SESSIONS);

  /**
   * Removes index changes that are already stored; undefined if none is left. Only within an epoch, because the session
   * may have been recreated in between.
   */
  omitKnown({ sessionId, epoch }: Append, changes: IndexChanges): IndexChanges | undefined {
    const { starts, ends, landmarks, answered, texts } = changes;
    const isKnown =
      starts.length === 0 || (starts.length === 1 && `${epoch} ${starts[0]?.runId}` === this.#runs.get(sessionId));
    if (isKnown && ends.length + landmarks.length + answered.length + texts.length === 0) return undefined;
    return isKnown ? { ...changes, starts: NO_STARTS } : changes;
  }

  /** Call after the changes are stored. */
  note({ sessionId, epoch }: Append, changes: IndexChanges | undefined): void {
    if (changes !== undefined && changes.starts !== NO_STARTS)
      this.#runs.set(sessionId, `${epoch} ${changes.starts.at(-1)?.runId}`);
  }
}
