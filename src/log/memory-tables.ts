/** The tables of the in-memory log: maps, which a change reads and writes at once. */
import { LoomError } from "../protocol/loom-error.ts";
import {
  acceptCommand,
  assertContinues,
  assertEpoch,
  assertFree,
  assertOwnerOf,
  assertRunLimit,
  changeMarks,
  mayBeStored,
} from "./change-rules.ts";
import { measureEntries } from "./entry.ts";
import { holderOf } from "./holder.ts";
import { findIndexChanges, type IndexChanges } from "./index-changes.ts";
import type {
  AcquiredLease,
  AcquireOptions,
  Append,
  BlobUsage,
  EncoderSnapshot,
  FoundSession,
  Lease,
  LogEntry,
  SearchSessionsOptions,
  SessionChanges,
} from "./log.ts";
import type { RunLimit } from "./log-limits.ts";
import type { CommandSubmission, LogTables, NewSessionOptions, StoredBatch } from "./log-tables.ts";
import { MemoryPruner } from "./memory-prune.ts";
import { MemoryReader } from "./memory-reader.ts";
import {
  addEntries,
  addSnapshot,
  countRuns,
  createMemorySession,
  describeSession,
  lastIdOf,
  measureLoad,
  measureOwner,
  messageKey,
  type MemorySession,
  type MemoryStore,
  needsHolder,
} from "./memory-session.ts";
import { assertQuota, hasQuotas, NO_USAGE, type OwnerUsage } from "./owner-quota.ts";
import { inheritValues, LOCAL_OWNER, sessionExists, assertSession } from "./rules.ts";
import type { CommandRow } from "./stored-rows.ts";

export class MemoryTables implements LogTables {
  readonly reader: MemoryReader;
  readonly pruner: MemoryPruner;
  readonly #store: MemoryStore;
  /** Highest epoch of any deleted session. New sessions start there, so that an epoch is never reused. */
  #lastEpoch = 0;
  #lastKey = 0;

  constructor(limits: MemoryStore["limits"], now: () => number) {
    this.#store = { sessions: new Map(), byKey: new Map(), limits, now };
    this.reader = new MemoryReader(this.#store);
    this.pruner = new MemoryPruner(this.#store);
  }

  now(): number {
    return this.#store.now();
  }

  searchSessions(options: SearchSessionsOptions): Promise<readonly FoundSession[]> {
    return this.reader.searchSessions(options);
  }

  createSession(sessionId: string, options: NewSessionOptions): void {
    this.#open(sessionId, options);
  }

  #open(sessionId: string, options: NewSessionOptions = {}): MemorySession {
    const { owner = LOCAL_OWNER, carried = [] } = options;
    const known = this.#store.sessions.get(sessionId);
    if (known !== undefined) {
      assertOwnerOf(sessionId, known.owner, options.owner);
      return known;
    }
    this.#assertRoom(owner, { sessions: 1, bytes: measureEntries(carried) });
    const session = this.#create(sessionId, options);
    this.#store.sessions.set(sessionId, session);
    return session;
  }

  #create(sessionId: string, options: NewSessionOptions): MemorySession {
    const [key, now, epoch] = [++this.#lastKey, this.#store.now(), this.#lastEpoch];
    const session = createMemorySession({ ...options, key, sessionId, now, epoch });
    this.#store.byKey.set(key, session);
    return session;
  }

  createDraft(options: NewSessionOptions): number {
    return this.#create("", options).key;
  }

  extendDraft(key: number, _after: number, entries: readonly LogEntry[]): void {
    const draft = this.#getDraft(key);
    // Refused before the rest is copied; `publishDraft` decides.
    this.#assertRoom(draft.owner, { bytes: draft.bytes + measureEntries(entries) });
    addEntries(draft, entries, findIndexChanges(entries));
  }

  publishDraft(key: number, sessionId: string, options: NewSessionOptions): void {
    const { rootId = sessionId, graceMs = 0, forkedFrom, runLimit } = options;
    const { sessions, now } = this.#store;
    if (sessions.has(sessionId)) throw sessionExists(sessionId);
    const draft = this.#getDraft(key);
    this.#assertRoom(draft.owner, { sessions: 1, bytes: draft.bytes });
    this.#assertRunLimit(runLimit);
    const origin = sessions.get(forkedFrom?.sessionId ?? "");
    const { title = null, ...marks } = inheritValues(options, origin && describeSession(origin, now()));
    const expiresAt = graceMs === 0 ? 0 : now() + graceMs;
    const changes: Partial<MemorySession> = { sessionId, rootId, title, ...marks, expiresAt, epoch: this.#lastEpoch };
    Object.assign(draft, changes);
    sessions.set(sessionId, draft);
  }

  discardDraft(key: number): void {
    this.#store.byKey.delete(key);
  }

  updateSession(sessionId: string, changes: SessionChanges, ifTitle: string | undefined): void {
    const session = this.#get(sessionId);
    Object.assign(session, changeMarks(session, changes, ifTitle));
  }

  deleteSession(sessionId: string, epoch: number | undefined): boolean {
    const { sessions, byKey } = this.#store;
    const session = sessions.get(sessionId);
    if (session === undefined) return false;
    if (epoch !== undefined) assertEpoch(sessionId, session, epoch);
    // An old lease must not be valid in a new session with the same ID.
    this.#lastEpoch = Math.max(this.#lastEpoch, session.epoch);
    byKey.delete(session.key);
    return sessions.delete(sessionId);
  }

  acquire(sessionId: string, { holder, ttlMs, takeover, create }: Required<AcquireOptions>): AcquiredLease {
    const session = create ? this.#open(sessionId) : this.#get(sessionId);
    assertFree(sessionId, holderOf(session, this.#store.now()), takeover);
    const wasHandedOver = session.isHandedOver;
    session.isHandedOver = false;
    session.epoch++;
    session.holder = holder;
    session.expiresAt = this.#store.now() + ttlMs;
    const lease = toLease(session);
    const { updatedAt, texts, runs } = session;
    const last = texts.length === 0 ? [] : this.reader.read(sessionId, { after: lease.lastId - 1 }).records;
    return {
      ...lease,
      lastTs: texts.length > 0 ? (last[0]?.envelope.ts ?? 0) : lease.lastId === 0 ? 0 : updatedAt,
      liveRuns: [...runs.values()].filter(({ status }) => status === "live"),
      todoLists: this.reader.listLandmarks(sessionId, "todo_list"),
      toolPermissions: this.reader.listLandmarks(sessionId, "tool_permission"),
      wasHandedOver,
    };
  }

  renew({ sessionId, epoch }: Lease, ttlMs: number): Lease {
    const session = this.#get(sessionId);
    assertEpoch(sessionId, session, epoch);
    session.expiresAt = this.#store.now() + ttlMs;
    return toLease(session);
  }

  release({ sessionId, epoch }: Lease, handsOver: boolean): boolean {
    const session = this.#store.sessions.get(sessionId);
    if (session?.epoch !== epoch) return false;
    session.epoch++;
    session.holder = null;
    session.expiresAt = 0;
    session.isHandedOver = handsOver;
    return needsHolder(session);
  }

  append(batch: Append, changes: IndexChanges | undefined): StoredBatch {
    const { sessionId, expectedLastId, entries, settle = [] } = batch;
    const session = this.#get(sessionId);
    assertEpoch(sessionId, session, batch.epoch);
    const { firstId, texts } = session;
    const stored = { firstId, lastId: lastIdOf(session) };
    const shape = { sessionId, expectedLastId, count: entries.length, settle };
    const commands = settle.map(({ commandId }) => session.commands.get(commandId));
    const isSame = ({ text }: LogEntry, index: number): boolean => texts[expectedLastId + 1 - firstId + index] === text;
    if (!mayBeStored(stored, shape, commands) || !entries.every(isSame)) {
      assertContinues(stored, shape, commands);
      addEntries(session, entries, changes);
      for (const [index, { commandId, outcome }] of settle.entries()) {
        const row = commands[index];
        const settled = { outcome: JSON.stringify(outcome), settledAt: this.#store.now() };
        if (row !== undefined) session.commands.set(commandId, { ...row, ...settled });
        session.actors.delete(messageKey(commandId));
      }
    }
    return { isOverQuota: this.#measure(session.owner).bytes >= this.#store.limits.maxOwnerBytes };
  }

  submit(submission: CommandSubmission): CommandRow {
    const { sessionId, command, interrupt, create } = submission;
    const found = this.#store.sessions.get(sessionId);
    const { added, title, needs, runLimit } = acceptCommand(
      submission,
      found && {
        ...found,
        known: found.commands.get(command.commandId),
        knownInterrupt: found.commands.get(interrupt?.commandId ?? ""),
        load: measureLoad(found),
      },
    );
    if (needs !== undefined) this.#assertRoom(found?.owner ?? create?.owner ?? LOCAL_OWNER, needs);
    this.#assertRunLimit(runLimit);
    const session = found ?? this.#open(sessionId, create);
    session.title = title ?? session.title;
    const createdAt = this.#store.now();
    for (const { actor, ...one } of added) {
      session.commands.set(one.commandId, { ...one, createdAt, outcome: null });
      if (actor !== null) session.actors.set(messageKey(one.commandId), actor);
    }
    return session.commands.get(command.commandId) as CommandRow;
  }

  setBlobUsage(sessionId: string, { blobs, bytes }: BlobUsage): void {
    const session = this.#get(sessionId);
    const { blobs: before } = session;
    this.#assertRoom(session.owner, { blobs: blobs - before.blobs, blobBytes: bytes - before.bytes });
    session.blobs = { blobs, bytes };
  }

  saveSnapshot(sessionId: string, snapshot: EncoderSnapshot): void {
    addSnapshot(this.#store.sessions.get(sessionId)?.snapshots ?? [], snapshot, this.#store.limits);
  }

  clean(settledBefore: number): void {
    for (const { commands } of this.#store.sessions.values())
      for (const { commandId, settledAt = Infinity } of commands.values())
        if (settledAt < settledBefore) commands.delete(commandId);
  }

  close(): void {
    // Nothing is pending, and the sessions go with the log.
  }

  #get(sessionId: string): MemorySession {
    return assertSession(this.#store.sessions.get(sessionId), sessionId);
  }

  #getDraft(key: number): MemorySession {
    const draft = this.#store.byKey.get(key);
    if (draft === undefined) throw new LoomError("conflict", "The copy was discarded; try again");
    return draft;
  }

  /** Counts only if there is a quota, because it visits all sessions. */
  #measure(owner: string): OwnerUsage {
    const { limits, sessions } = this.#store;
    return hasQuotas(limits) ? measureOwner(sessions.values(), owner) : NO_USAGE;
  }

  #assertRoom(owner: string, more: Partial<OwnerUsage>): void {
    assertQuota(this.#measure(owner), more, this.#store.limits);
  }

  #assertRunLimit(limit: RunLimit | undefined): void {
    if (limit !== undefined) assertRunLimit(countRuns(this.#store.sessions.values(), limit.actor), limit);
  }
}

function toLease(session: MemorySession): Lease {
  const { sessionId, epoch, incarnation, expiresAt } = session;
  return { sessionId, epoch, incarnation, lastId: lastIdOf(session), expiresAt };
}
