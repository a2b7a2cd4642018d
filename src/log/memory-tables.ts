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
  type SessionLoad,
} from "./change-rules.ts";
import { measureEntries } from "./entry.ts";
import { holderOf } from "./holder.ts";
import type { IndexChanges } from "./index-changes.ts";
import type {
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
import type { CommandSubmission, GrantedLease, LogTables, NewSessionOptions, StoredBatch } from "./log-tables.ts";
import { MemoryPruner } from "./memory-prune.ts";
import { MemoryReader } from "./memory-reader.ts";
import {
  addEntries,
  createMemorySession,
  listLiveRuns,
  listPending,
  type MemorySession,
  type MemoryStore,
  needsHolder,
} from "./memory-session.ts";
import { addUsage, assertQuota, hasQuotas, NO_USAGE, type OwnerUsage } from "./owner-quota.ts";
import { assertSession, inheritValues, LOCAL_OWNER, MAX_SNAPSHOTS, sessionExists } from "./rules.ts";
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
      assertOwnerOf(sessionId, known.info.owner, options.owner);
      return known;
    }
    this.#assertRoom(owner, { sessions: 1, bytes: measureEntries(carried) });
    const session = this.#create(sessionId, options);
    this.#store.sessions.set(sessionId, session);
    return session;
  }

  #create(sessionId: string, options: NewSessionOptions): MemorySession {
    const named = { key: ++this.#lastKey, sessionId, epoch: this.#lastEpoch };
    const session = createMemorySession(named, options, this.#store.now());
    this.#store.byKey.set(session.key, session);
    return session;
  }

  createDraft(options: NewSessionOptions): number {
    return this.#create("", options).key;
  }

  extendDraft(key: number, _after: number, entries: readonly LogEntry[], changes: IndexChanges): void {
    const draft = this.#getDraft(key);
    // Refused before the rest is copied; `publishDraft` decides.
    this.#assertRoom(draft.info.owner, { bytes: draft.info.bytes + measureEntries(entries) });
    addEntries(draft, entries, changes);
  }

  publishDraft(key: number, sessionId: string, options: NewSessionOptions): void {
    const { rootId = sessionId, graceMs = 0, forkedFrom, runLimit } = options;
    const { sessions, now } = this.#store;
    if (sessions.has(sessionId)) throw sessionExists(sessionId);
    const draft = this.#getDraft(key);
    const { owner, bytes } = draft.info;
    this.#assertRoom(owner, { sessions: 1, bytes });
    this.#assertRunLimit(runLimit);
    const shown = inheritValues(options, sessions.get(forkedFrom?.sessionId ?? "")?.info);
    Object.assign(draft.info, { sessionId, rootId, ...shown });
    draft.expiresAt = graceMs === 0 ? 0 : now() + graceMs;
    draft.epoch = this.#lastEpoch;
    sessions.set(sessionId, draft);
  }

  discardDraft(key: number): void {
    this.#store.byKey.delete(key);
  }

  updateSession(sessionId: string, changes: SessionChanges, ifTitle: string | undefined): void {
    const { info } = this.#get(sessionId);
    const marks = changeMarks({ ...info, title: info.title ?? null }, changes, ifTitle);
    if (marks !== undefined) Object.assign(info, { ...marks, title: marks.title ?? undefined });
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

  acquire(sessionId: string, { holder, ttlMs, takeover, create }: Required<AcquireOptions>): GrantedLease {
    const session = create ? this.#open(sessionId) : this.#get(sessionId);
    assertFree(sessionId, holderOf(session, this.#store.now()), takeover);
    const wasHandedOver = session.isHandedOver;
    session.isHandedOver = false;
    session.epoch++;
    session.holder = holder;
    session.expiresAt = this.#store.now() + ttlMs;
    return { ...toLease(session), wasHandedOver };
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
    const { info, texts } = session;
    const shape = { sessionId, expectedLastId, count: entries.length, settle };
    const commands = settle.map(({ commandId }) => session.commands.get(commandId));
    const isSame = ({ text }: LogEntry, index: number): boolean =>
      texts[expectedLastId + 1 - info.firstId + index] === text;
    if (!mayBeStored(info, shape, commands) || !entries.every(isSame)) {
      assertContinues(info, shape, commands);
      addEntries(session, entries, changes);
      for (const [index, { commandId, outcome }] of settle.entries()) {
        const row = commands[index];
        const settled = { outcome: JSON.stringify(outcome), settledAt: this.#store.now() };
        if (row !== undefined) session.commands.set(commandId, { ...row, ...settled });
      }
    }
    return { isOverQuota: this.#measure(info.owner).bytes >= this.#store.limits.maxOwnerBytes };
  }

  submit(submission: CommandSubmission): CommandRow {
    const { sessionId, command, interrupt, create } = submission;
    const found = this.#store.sessions.get(sessionId);
    const { added, title, needs, runLimit } = acceptCommand(
      submission,
      found && {
        owner: found.info.owner,
        title: found.info.title ?? null,
        known: found.commands.get(command.commandId),
        knownInterrupt: found.commands.get(interrupt?.commandId ?? ""),
        load: measureLoad(found),
      },
    );
    if (needs !== undefined) this.#assertRoom(found?.info.owner ?? create?.owner ?? LOCAL_OWNER, needs);
    this.#assertRunLimit(runLimit);
    const session = found ?? this.#open(sessionId, create);
    session.info.title = title ?? session.info.title;
    const createdAt = this.#store.now();
    for (const one of added) session.commands.set(one.commandId, { ...one, createdAt, outcome: null });
    return session.commands.get(command.commandId) as CommandRow;
  }

  setBlobUsage(sessionId: string, { blobs, bytes }: BlobUsage): void {
    const session = this.#get(sessionId);
    const { blobs: before } = session;
    this.#assertRoom(session.info.owner, { blobs: blobs - before.blobs, blobBytes: bytes - before.bytes });
    session.blobs = { blobs, bytes };
  }

  /** Removes the oldest snapshots beyond the limits. */
  saveSnapshot(sessionId: string, snapshot: EncoderSnapshot): void {
    const session = this.#store.sessions.get(sessionId);
    const { key, eventId } = snapshot;
    if (session === undefined || eventId < session.info.firstId) return;
    const others = session.snapshots.filter((other) => other.key !== key || other.eventId !== eventId);
    session.snapshots = [...others, snapshot].slice(-MAX_SNAPSHOTS);
    let bytes = session.snapshots.reduce((sum, { state }) => sum + state.length, 0);
    while (bytes > this.#store.limits.maxSessionSnapshotBytes)
      bytes -= session.snapshots.shift()?.state.length ?? bytes;
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
    if (!hasQuotas(limits)) return NO_USAGE;
    return [...sessions.values()]
      .filter(({ info }) => info.owner === owner)
      .map(({ info, blobs }) => ({ sessions: 1, bytes: info.bytes, blobs: blobs.blobs, blobBytes: blobs.bytes }))
      .reduce(addUsage, NO_USAGE);
  }

  #assertRoom(owner: string, more: Partial<OwnerUsage>): void {
    assertQuota(this.#measure(owner), more, this.#store.limits);
  }

  /** Counts the live runs and pending messages of the principal. */
  #assertRunLimit(limit: RunLimit | undefined): void {
    if (limit === undefined) return;
    const actors = [...this.#store.sessions.values()].flatMap((session) => [
      ...session.actors.values(),
      ...listPending(session).map(({ actor }) => actor),
    ]);
    assertRunLimit(actors.filter((actor) => actor === limit.actor).length, limit);
  }
}

function measureLoad(session: MemorySession): SessionLoad {
  const pending = listPending(session);
  const messages = pending.filter(({ kind }) => kind === "enqueue").length;
  return { pending: pending.length, messages, liveRun: listLiveRuns(session)[0]?.runId };
}

function toLease({ info, epoch, expiresAt }: MemorySession): Lease {
  const { sessionId, incarnation, lastId } = info;
  return { sessionId, epoch, incarnation, lastId, expiresAt };
}
