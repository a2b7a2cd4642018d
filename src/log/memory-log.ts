/**
 * A log in memory, for tests and short-lived programs. It is also the simplest implementation of the `Log` interface.
 * Records are lost when the process ends.
 */
import { Buffer } from "node:buffer";
import { LoomError } from "../protocol/index.ts";
import { assertBatch, assertCarried, createPieceCheck, measureEntries } from "./entry.ts";
import { Feed } from "./feed.ts";
import { isHolderGone } from "./holder.ts";
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
} from "./log.ts";
import { LOG_LIMITS, type LogLimits } from "./log-limits.ts";
import type { PruneReport, RetentionPolicy } from "./retention-policy.ts";
import {
  applyChanges,
  collectEntries,
  createMemorySession,
  describeSession,
  findActivity,
  findCommand,
  findMatches,
  findSessionsOfCommand,
  indexEntries,
  isStored,
  lastIdOf,
  measureLoad,
  measureOwner,
  needsHolder,
  pageAfter,
  selectSessions,
  type MemorySession,
} from "./memory-session.ts";
import { MemoryPruner } from "./memory-prune.ts";
import { addSnapshot, findLatestSnapshot } from "./memory-snapshots.ts";
import { assertQuota, hasQuotas, NO_USAGE, type OwnerUsage } from "./owner-quota.ts";
import { Page } from "./page.ts";
import {
  assertChanges,
  assertCommand,
  assertInterrupt,
  assertFirstId,
  assertLineage,
  assertName,
  assertSessionId,
  assertOwner,
  assertPosition,
  assertDuration,
  assertRoom,
  assertTitle,
  clampListLimit,
  clampPageLimit,
  fenced,
  inheritValues,
  leaseHeld,
  LOCAL_OWNER,
  sessionExists,
  assertSameOwner,
  unknownSession,
} from "./rules.ts";
import { readQuery } from "./search-text.ts";
import { copyJson } from "../protocol/json.ts";

/** Options of a `MemoryLog`. */
export interface MemoryLogOptions {
  /** Replaces single limits. Default: `LOG_LIMITS`. */
  readonly limits?: Partial<LogLimits>;
  /** Returns the current time in milliseconds since 1970. Default: `Date.now`. */
  readonly now?: () => number;
}

/** A log that keeps its sessions in memory, for tests and for programs without a store. */
export class MemoryLog implements Log {
  readonly limits: LogLimits;
  readonly #now: () => number;
  readonly #sessions = new Map<string, MemorySession>();
  readonly #pruner = new MemoryPruner(this.#sessions, () => this.#now());
  readonly #feed: Feed;
  /** Highest epoch of any deleted session. New sessions start there, so that an epoch is never reused. */
  #lastEpoch = 0;
  #closed = false;

  constructor({ limits = {}, now = Date.now }: MemoryLogOptions = {}) {
    this.limits = { ...LOG_LIMITS, ...limits };
    this.#now = now;
    this.#feed = new Feed(this.limits.maxFeedBytes, this.limits);
  }

  async createSession(sessionId: string, options: CreateOptions = {}): Promise<SessionInfo> {
    const { firstId = 1, graceMs = 0 } = options;
    assertDuration(graceMs);
    if (options.entries !== undefined) assertFirstId(firstId);
    const check = createPieceCheck(sessionId, firstId, this.limits);
    const entries = options.entries && (await collectEntries(options.entries, check));
    if (entries !== undefined && this.#sessions.has(sessionId)) throw sessionExists(sessionId);
    assertCarried(sessionId, options, this.limits);
    this.#assertRoom(options.owner, { bytes: measureEntries(entries ?? []) + measureEntries(options.carried ?? []) });
    const { title: _given, ...rest } = options;
    const { title, ...marks } = inheritValues(options, this.#sessions.get(options.forkedFrom?.sessionId ?? ""));
    const session = this.#open(sessionId, { ...rest, ...marks, ...(title === undefined ? {} : { title }) });
    if (entries !== undefined) this.#write(session, { sessionId, epoch: 0, expectedLastId: firstId - 1, entries });
    return this.#describe(session);
  }

  async getSession(sessionId: string): Promise<SessionInfo | undefined> {
    this.#assertOpen();
    const session = this.#sessions.get(sessionId);
    return session && this.#describe(session);
  }

  async listSessions(options: ListSessionsOptions = {}): Promise<readonly SessionInfo[]> {
    const newestFirst = this.#newestFirst(options.owner);
    const selected = selectSessions(newestFirst, options);
    return pageAfter(newestFirst, Number.POSITIVE_INFINITY, options.after, ({ sessionId }) => sessionId)
      .filter((session) => selected.has(session))
      .slice(0, clampListLimit(options.limit))
      .map((session) => this.#describe(session));
  }

  async listActiveSessions(options: ListActiveSessionsOptions = {}): Promise<readonly ActiveSession[]> {
    const { limit, after, owner, isWaiting = false } = options;
    return pageAfter(this.#newestFirst(owner), Number.POSITIVE_INFINITY, after, ({ sessionId }) => sessionId)
      .flatMap((session) => {
        const activity = findActivity(session, isWaiting);
        return activity === undefined ? [] : [{ ...this.#describe(session), ...activity }];
      })
      .slice(0, clampListLimit(limit));
  }

  async searchSessions(options: SearchSessionsOptions): Promise<readonly FoundSession[]> {
    const { query, limit, after, owner, signal } = options;
    const newestFirst = this.#newestFirst(owner);
    const phrases = readQuery(query);
    const found: FoundSession[] = [];
    const sessions = pageAfter(newestFirst, Number.POSITIVE_INFINITY, after, ({ sessionId }) => sessionId);
    for await (const { session, match } of findMatches(sessions, phrases, signal)) {
      // It may have been deleted in the meantime.
      if (this.#sessions.get(session.sessionId) !== session) continue;
      found.push({ ...this.#describe(session), match });
      if (found.length >= clampListLimit(limit)) break;
    }
    return found;
  }

  async listBranches(sessionId: string, options: ListBranchesOptions = {}): Promise<readonly SessionInfo[]> {
    const { rootId, owner } = this.#get(sessionId);
    const newest = this.#newestFirst(owner).filter((session) => session.rootId === rootId);
    const branches = options.newestFirst === true ? newest : newest.toReversed();
    const page = pageAfter(branches, clampListLimit(options.limit), options.after, (session) => session.sessionId);
    return page.map((session) => this.#describe(session));
  }

  async updateSession(
    sessionId: string,
    changes: SessionChanges,
    { ifTitle }: UpdateSessionOptions = {},
  ): Promise<SessionInfo> {
    assertChanges(changes);
    assertTitle(ifTitle);
    const session = this.#get(sessionId);
    if (ifTitle === undefined || ifTitle === session.title) applyChanges(session, changes);
    return this.#describe(session);
  }

  async deleteSession(sessionId: string, { epoch }: { readonly epoch?: number } = {}): Promise<boolean> {
    this.#assertOpen();
    const session = this.#sessions.get(sessionId);
    if (session === undefined) return false;
    if (epoch !== undefined) this.#fence(sessionId, epoch);
    // An old lease must not be valid in a new session with the same ID.
    this.#lastEpoch = Math.max(this.#lastEpoch, session.epoch);
    this.#sessions.delete(sessionId);
    this.#feed.forget(sessionId);
    return true;
  }

  async listOrphans({ limit, after }: PagingOptions = {}): Promise<readonly string[]> {
    this.#assertOpen();
    return pageAfter([...this.#sessions.values()], Number.POSITIVE_INFINITY, after, ({ sessionId }) => sessionId)
      .filter((session) => session.graceUntil <= this.#now() && this.#holderOf(session) === undefined)
      .filter(needsHolder)
      .slice(0, clampListLimit(limit))
      .map(({ sessionId }) => sessionId);
  }

  async acquire(sessionId: string, options: AcquireOptions): Promise<AcquiredLease> {
    const { holder, ttlMs, takeover = false, create = true } = options;
    assertDuration(ttlMs);
    assertName("holder", holder);
    const session = create ? this.#open(sessionId) : this.#get(sessionId);
    const current = this.#holderOf(session);
    if (current !== undefined && !takeover) throw leaseHeld(sessionId, current);
    session.epoch++;
    session.graceUntil = 0;
    session.lease = { holder, expiresAt: this.#now() + ttlMs };
    const wasHandedOver = session.isHandedOver;
    session.isHandedOver = false;
    const { texts, updatedAt, runs } = session;
    const lease = this.#lease(session);
    const last = new Page(sessionId, lease.lastId - 1, lease.lastId, texts.slice(-1));
    return {
      ...lease,
      lastTs: texts.length > 0 ? (last.records[0]?.envelope.ts ?? 0) : lease.lastId === 0 ? 0 : updatedAt,
      liveRuns: [...runs.values()].filter(({ status }) => status === "live"),
      todoLists: await this.listLandmarks(sessionId, "todo_list"),
      toolPermissions: await this.listLandmarks(sessionId, "tool_permission"),
      wasHandedOver,
    };
  }

  async renew({ sessionId, epoch }: Lease, ttlMs: number): Promise<Lease> {
    assertDuration(ttlMs);
    const session = this.#fence(sessionId, epoch);
    if (session.lease === undefined) throw fenced(sessionId, session.epoch);
    session.lease = { holder: session.lease.holder, expiresAt: this.#now() + ttlMs };
    return this.#lease(session);
  }

  async release({ sessionId, epoch }: Lease, { handsOver = false }: ReleaseOptions = {}): Promise<void> {
    this.#assertOpen();
    const session = this.#sessions.get(sessionId);
    if (session?.epoch !== epoch) return;
    session.epoch++;
    session.lease = undefined;
    session.isHandedOver = handsOver;
    this.#feed.hint(sessionId);
    if (needsHolder(session)) this.#feed.hintOrphans();
  }

  watchOrphans(listener: () => void): () => void {
    return this.#feed.watchOrphans(listener);
  }

  async append(batch: Append): Promise<AppendResult> {
    assertBatch(batch, this.limits);
    const { sessionId, epoch, expectedLastId, entries, settle = [] } = batch;
    const session = this.#fence(sessionId, epoch);
    const lastId = lastIdOf(session);
    if (isStored(session, batch)) return { lastId: expectedLastId + entries.length };
    if (lastId !== expectedLastId)
      throw new LoomError("conflict", `Session "${sessionId}" ends at record ${lastId}, not ${expectedLastId}`, {
        last_event_id: lastId,
      });
    for (const [index, { commandId }] of settle.entries()) {
      const command = session.commands.get(commandId);
      const isRepeated = settle.findIndex((other) => other.commandId === commandId) !== index;
      if (command === undefined || command.outcome !== undefined || isRepeated)
        throw new LoomError("command_settled", `Command "${commandId}" of session "${sessionId}" is not pending`);
    }
    this.#write(session, batch);
    const isFull = this.#measure(session.owner).bytes >= this.limits.maxOwnerBytes;
    return { lastId: lastIdOf(session), ...(isFull ? { isOverQuota: true } : {}) };
  }

  #write(session: MemorySession, { sessionId, expectedLastId, entries, settle = [] }: Append): void {
    const texts = entries.map((entry) => entry.text);
    for (const text of texts) {
      session.texts.push(text);
      session.bytes += Buffer.byteLength(text);
    }
    indexEntries(session, entries);
    for (const { commandId, outcome } of settle) {
      session.settledAt.set(commandId, this.#now());
      const command = session.commands.get(commandId);
      if (command !== undefined) session.commands.set(commandId, { ...command, outcome: copyJson(outcome) });
    }
    if (entries.length > 0)
      this.#feed.publish(new Page(sessionId, expectedLastId, lastIdOf(session), texts, session.incarnation));
    else this.#feed.hint(sessionId);
  }

  async read(sessionId: string, { after, limit, maxBytes }: ReadOptions): Promise<Page> {
    const session = this.#get(sessionId);
    assertPosition(sessionId, after, session.firstId, lastIdOf(session));
    const { maxPageRecords, maxPageBytes } = this.limits;
    const from = after + 1 - session.firstId;
    const most = clampPageLimit(limit, maxPageRecords);
    let room = clampPageLimit(maxBytes, maxPageBytes);
    let end = from;
    while (end < session.texts.length && end - from < most) {
      room -= Buffer.byteLength(session.texts[end] ?? "");
      if (room < 0 && end > from) break;
      end++;
    }
    return new Page(sessionId, after, after + (end - from), session.texts.slice(from, end));
  }

  async readCarried(sessionId: string): Promise<readonly LogEntry[]> {
    return this.#get(sessionId).carried;
  }

  peek(sessionId: string, after: number): Page | undefined {
    return this.#feed.peek(sessionId, after);
  }

  watch(sessionId: string, listener: () => void, options?: WatchSessionOptions): () => void {
    return this.#feed.watch(sessionId, listener, options);
  }

  async getRun(sessionId: string, runId: string): Promise<RunInfo | undefined> {
    return this.#get(sessionId).runs.get(runId);
  }

  async listRuns(sessionId: string, { limit, after }: PagingOptions = {}): Promise<readonly RunInfo[]> {
    return pageAfter(
      [...this.#get(sessionId).runs.values()].toReversed(),
      clampListLimit(limit),
      after,
      ({ runId }) => runId,
    );
  }

  async findFoldStart(sessionId: string, id: number): Promise<number> {
    const session = this.#get(sessionId);
    let from = id + 1;
    for (const { firstId, lastId = Number.POSITIVE_INFINITY } of session.runs.values())
      if (firstId <= id && lastId > id) from = Math.min(from, firstId);
    let start = session.firstId;
    for (const { lastId = Number.POSITIVE_INFINITY } of session.runs.values())
      if (lastId < from) start = Math.max(start, lastId + 1);
    return start;
  }

  async findSnapshot(sessionId: string, key: string, id: number): Promise<EncoderSnapshot | undefined> {
    return findLatestSnapshot(this.#get(sessionId).snapshots, key, id);
  }

  async saveSnapshot(sessionId: string, snapshot: EncoderSnapshot): Promise<void> {
    this.#assertOpen();
    addSnapshot(this.#sessions.get(sessionId)?.snapshots ?? [], snapshot, this.limits);
  }

  async getLandmark(sessionId: string, kind: LandmarkKind, key: string): Promise<Landmark | undefined> {
    return this.#get(sessionId).landmarks.get(`${kind}:${key.toWellFormed()}`);
  }

  async listLandmarks(
    sessionId: string,
    kind: LandmarkKind,
    limit?: number,
    before: number = Number.POSITIVE_INFINITY,
  ): Promise<readonly Landmark[]> {
    const all = [...this.#get(sessionId).landmarks.values()].filter(
      (landmark) => landmark.kind === kind && landmark.eventId < before,
    );
    return all.toReversed().slice(0, clampListLimit(limit));
  }

  async submit(command: Command, options: SubmitOptions = {}): Promise<CommandState> {
    assertCommand(command, this.limits);
    assertInterrupt(command, options, this.limits);
    const [{ sessionId }, { create, interrupt }] = [command, options];
    assertTitle(create?.title);
    assertOwner(create?.owner);
    const session = create === undefined || this.#sessions.has(sessionId) ? this.#get(sessionId) : undefined;
    assertSameOwner(sessionId, options, session?.owner);
    const known = findCommand(session, command);
    const isFirst = known === undefined && interrupt !== undefined && findCommand(session, interrupt) === undefined;
    const added = isFirst ? [interrupt, command] : [command];
    if (known === undefined)
      assertRoom(sessionId, added, measureLoad(session), { maxPending: this.limits.maxPendingCommands, ...options });
    if (known === undefined && command.kind === "enqueue")
      this.#assertRoom(session?.owner ?? create?.owner, { bytes: 1 });
    const target = session ?? this.#open(sessionId, create);
    target.title ??= create?.title;
    if (known !== undefined) return known;
    const states = added.map(({ commandId, kind, body }): CommandState => {
      // A copy, so that the command does not change with the caller's object.
      return { commandId, sessionId, kind, body: copyJson(body), createdAt: this.#now(), outcome: undefined };
    });
    for (const state of states) target.commands.set(state.commandId, state);
    this.#feed.hint(sessionId);
    return states.at(-1) as CommandState;
  }

  async getCommand(sessionId: string, commandId: string): Promise<CommandState | undefined> {
    return this.#get(sessionId).commands.get(commandId);
  }

  async listSessionsOfCommand(commandId: string, owner?: string): Promise<readonly string[]> {
    return findSessionsOfCommand(this.#sessions.values(), commandId, owner);
  }

  async listPending(sessionId: string, limit?: number): Promise<readonly CommandState[]> {
    const all = [...this.#get(sessionId).commands.values()];
    return all.filter(({ outcome }) => outcome === undefined).slice(0, clampListLimit(limit));
  }

  async setBlobUsage(sessionId: string, usage: BlobUsage): Promise<void> {
    const session = this.#get(sessionId);
    const { blobs, bytes } = session.blobs;
    this.#assertRoom(session.owner, { blobs: usage.blobs - blobs, blobBytes: usage.bytes - bytes });
    session.blobs = { blobs: usage.blobs, bytes: usage.bytes };
  }

  async prune(policy: RetentionPolicy): Promise<PruneReport> {
    this.#assertOpen();
    return this.#pruner.prune(this, policy);
  }

  async close(): Promise<void> {
    this.#closed = true;
    this.#feed.close();
  }

  #assertOpen(): void {
    if (this.#closed) throw new LoomError("store_closed", "The log is closed");
  }

  #get(sessionId: string): MemorySession {
    this.#assertOpen();
    const session = this.#sessions.get(sessionId);
    if (session === undefined) throw unknownSession(sessionId);
    return session;
  }

  /** Sessions of one owner, or of all owners. */
  #newestFirst(owner: string | undefined): readonly MemorySession[] {
    this.#assertOpen();
    assertOwner(owner);
    const all = [...this.#sessions.values()].toReversed();
    return owner === undefined ? all : all.filter((session) => session.owner === owner);
  }

  #open(sessionId: string, options: CreateOptions = {}): MemorySession {
    const { owner, firstId = 1 } = options;
    this.#assertOpen();
    assertSessionId(sessionId);
    assertFirstId(firstId);
    assertChanges(options);
    assertOwner(owner);
    assertLineage(options);
    const known = this.#sessions.get(sessionId);
    if (known !== undefined && owner !== undefined && owner !== known.owner) throw sessionExists(sessionId);
    if (known !== undefined) return known;
    this.#assertRoom(owner, { sessions: 1 });
    const session = createMemorySession({ ...options, sessionId, now: this.#now(), epoch: this.#lastEpoch });
    this.#sessions.set(sessionId, session);
    return session;
  }

  /** Counts only if there is a quota, because it visits all sessions. */
  #measure(owner: string): OwnerUsage {
    return hasQuotas(this.limits) ? measureOwner(this.#sessions.values(), owner) : NO_USAGE;
  }

  #assertRoom(owner: string | undefined, more: Partial<OwnerUsage>): void {
    assertQuota(this.#measure(owner ?? LOCAL_OWNER), more, this.limits);
  }

  #fence(sessionId: string, epoch: number): MemorySession {
    const session = this.#get(sessionId);
    // An epoch without a lease was never granted: the session was released or never written.
    if (session.epoch !== epoch || session.lease === undefined) throw fenced(sessionId, session.epoch);
    return session;
  }

  #holderOf({ lease }: MemorySession): string | undefined {
    return lease === undefined || lease.expiresAt <= this.#now() || isHolderGone(lease.holder)
      ? undefined
      : lease.holder;
  }

  #lease(session: MemorySession): Lease {
    const { sessionId, epoch, incarnation, lease } = session;
    return { sessionId, epoch, incarnation, lastId: lastIdOf(session), expiresAt: lease?.expiresAt ?? 0 };
  }

  #describe(session: MemorySession): SessionInfo {
    return describeSession(session, this.#holderOf(session));
  }
}
