/**
 * Applies operations to an open store. It runs in the writer thread and is the only code that writes. Each operation is
 * checked completely before it changes anything, so that a rejected operation does not affect others in the
 * transaction.
 */
import { Buffer } from "node:buffer";
import { randomUUID } from "node:crypto";
import type { DatabaseSync } from "node:sqlite";
import { CommitMark } from "../../sqlite/commit-mark.ts";
import { prepareAll, type Statements } from "../../sqlite/database.ts";
import {
  acceptCommand,
  assertContinues,
  assertEpoch,
  assertFree,
  assertOwnerOf,
  changeMarks,
  mayBeStored,
} from "../change-rules.ts";
import { holderOf } from "../holder.ts";
import type { IndexChanges } from "../index-changes.ts";
import type { LogLimits } from "../log-limits.ts";
import type { Lease } from "../log.ts";
import type { GrantedLease } from "../log-tables.ts";
import { LOCAL_OWNER } from "../rules.ts";
import { CommitJournal } from "./commit-journal.ts";
import { Compactor } from "./compact.ts";
import { Drafts } from "./drafts.ts";
import { type Head, Heads, idAfter } from "./heads.ts";
import type { CommandRow } from "../stored-rows.ts";
import type { ChangeName, OperationOf, ResultOf, StoreOperation } from "./operations.ts";
import { OwnerUsageRows } from "./owner-usage-rows.ts";
import { probeStore } from "./probe-store.ts";
import { measureRows, Pruner } from "./prune.ts";
import { checksumOf } from "./records.ts";
import { toLineageColumns } from "./session-rows.ts";
import { prepareRows, type StoreRows } from "./store-rows.ts";

/** `expiresAt` of a session without a holder that its last writer handed over. */
const HANDED_OVER = -1;

/** Maximum number of records, and approximate bytes, in one row of `recent`. */
const MAX_ROW_RECORDS = 64;
const MAX_ROW_LENGTH = 8 * 1024;

/** Operations after which watchers of the session have something to read. */
const WATCHED_OPERATIONS: ReadonlySet<ChangeName> = new Set([
  "append",
  "create",
  "publish-draft",
  "delete",
  "acquire",
  "release",
  "submit",
]);

const STATEMENTS = {
  begin: "BEGIN IMMEDIATE",
  commit: "COMMIT",
  insertRecord: "INSERT INTO recent (session, id, pos, crc, text) VALUES (?, ?, ?, ?, ?)",
} as const;

export class SqliteStore {
  readonly #db: DatabaseSync;
  readonly #rows: StoreRows;
  readonly #heads: Heads;
  readonly #usage: OwnerUsageRows;
  readonly #compactor: Compactor;
  readonly #pruner: Pruner;
  readonly #journal: CommitJournal;
  readonly #mark: CommitMark;
  readonly #drafts: Drafts;
  readonly #sql: Statements<typeof STATEMENTS>;
  readonly #changes: { readonly [D in ChangeName]: (operation: OperationOf<D>) => ResultOf<D> } = {
    append: (batch) => this.#append(batch),
    create: (fresh) => void this.#open(fresh.sessionId, fresh),
    "create-draft": (draft) => this.#drafts.create(draft),
    "extend-draft": (piece) => this.#drafts.extend(piece),
    "publish-draft": (draft) => this.#drafts.publish(draft),
    "discard-draft": ({ key }) => this.#drafts.discard(key),
    update: (update) => this.#update(update),
    delete: (deletion) => this.#delete(deletion),
    acquire: (request) => this.#acquire(request),
    renew: (renewal) => this.#renew(renewal),
    release: (release) => this.#release(release),
    submit: (submission) => this.#submit(submission),
    "set-blob-usage": (usage) => this.#usage.setBlobs(this.#heads.get(usage.sessionId).row, usage),
    "save-snapshot": (snapshot) => this.#saveSnapshot(snapshot),
    "hold-pruning": (right) => this.#pruner.hold(right),
    cut: (cut) => this.#pruner.cut(cut),
    "drop-commands": (limit) => this.#pruner.dropCommands(limit),
    sweep: ({ now }) => this.#sweep(now),
    scrub: () => this.#scrub(),
    probe: () => probeStore(this.#db),
  };
  readonly #maxSnapshotBytes: number;
  #isScrubbed = false;

  /** `maxRecentRows`: see `SqliteLogOptions`; `writer`: see `CommitJournal`. */
  constructor(db: DatabaseSync, maxRecentRows: number, writer: number, limits: LogLimits) {
    this.#db = db;
    this.#rows = prepareRows(db);
    this.#usage = new OwnerUsageRows(db, this.#rows, limits);
    this.#maxSnapshotBytes = limits.maxSessionSnapshotBytes;
    this.#heads = new Heads(db, this.#rows);
    this.#pruner = new Pruner(db, this.#rows, this.#heads, this.#usage);
    this.#drafts = new Drafts(this.#rows, this.#heads, this.#usage, (head, text, count, changes) => {
      this.#insertAll(head, text, count);
      this.#index(head, changes);
    });
    this.#compactor = new Compactor(db, maxRecentRows);
    this.#journal = new CommitJournal(db, writer);
    this.#mark = new CommitMark(db.location() ?? "");
    this.#sql = prepareAll(db, STATEMENTS);
  }

  begin(): void {
    this.#sql.begin.run();
    if (this.#heads.refresh()) {
      this.#compactor.forget();
      this.#usage.clear();
    }
    this.#rows.searchIndex.begin();
    this.#journal.begin();
  }

  commit(): void {
    const seq = this.#journal.write();
    this.#usage.flush();
    this.#sql.commit.run();
    if (this.#isScrubbed) {
      this.#isScrubbed = false;
      // Overwrites pages of the file whose new versions are only in the write-ahead log. It waits for no other process.
      this.#db.exec("PRAGMA wal_checkpoint(PASSIVE)");
    }
    // After the checkpoint, which changes the file.
    if (seq !== undefined) this.#mark.set(seq);
  }

  checkpoint(): void {
    this.#db.exec("PRAGMA wal_checkpoint(FULL)");
  }

  /** Compacts `recent` if necessary, in its own transaction after the group is answered. */
  compact(): void {
    if (!this.#compactor.isDue()) return;
    this.begin();
    this.#compactor.run();
    this.commit();
  }

  /** Indexes texts that wait. */
  maintain(): boolean {
    if (!this.#rows.searchIndex.hasQueued()) return false;
    this.begin();
    this.#rows.searchIndex.indexQueued();
    this.commit();
    return this.#rows.searchIndex.hasQueued();
  }

  rollback(): void {
    this.#heads.clear();
    this.#usage.clear();
    this.#compactor.forget();
    if (this.#db.isTransaction) this.#db.exec("ROLLBACK");
  }

  close(): void {
    this.#db.close();
    this.#mark.close();
  }

  /** Applies one operation and returns its value. Throws a LoomError, without changes, if the operation is rejected. */
  apply(operation: StoreOperation): unknown {
    const apply = this.#changes[operation.do] as (operation: StoreOperation) => unknown;
    const value = apply(operation);
    if ("sessionId" in operation && WATCHED_OPERATIONS.has(operation.do))
      this.#journal.note(this.#heads.find(operation.sessionId)?.key ?? operation.sessionId);
    return value;
  }

  /** Returns true if more is left. */
  #sweep(now: number): boolean {
    // It also returns free pages to the file system.
    this.#journal.noteUncounted();
    // The compactor must not write the deleted rows again from memory.
    this.#compactor.forget();
    this.#drafts.discardAbandoned(now);
    return this.#pruner.sweep();
  }

  #scrub(): void {
    this.#journal.trimDeleted();
    this.#isScrubbed = true;
  }

  #saveSnapshot({ sessionId, snapshot }: OperationOf<"save-snapshot">): void {
    const head = this.#heads.find(sessionId);
    // The session may have been deleted, and the record pruned.
    if (head === undefined || snapshot.eventId < head.row.firstId) return;
    this.#rows.snapshots.save(head.key, snapshot, this.#maxSnapshotBytes);
  }

  #update({ sessionId, ifTitle, ...changes }: OperationOf<"update">): void {
    const head = this.#heads.get(sessionId);
    const { title, isPinned, isArchived } = head.row;
    const marks = changeMarks({ title, isPinned: isPinned === 1, isArchived: isArchived === 1 }, changes, ifTitle);
    if (marks === undefined) return;
    if (changes.title !== undefined) this.#setTitle(head, changes.title);
    this.#heads.save(head, { isPinned: Number(marks.isPinned), isArchived: Number(marks.isArchived) });
  }

  #setTitle(head: Head, title: string): void {
    this.#heads.save(head, { title });
    this.#rows.searchIndex.setTitle(head.row, title);
  }

  /** Returns true if the owner has reached its quota for records. */
  #append(batch: OperationOf<"append">): true | undefined {
    const { sessionId, expectedLastId, count, text, changes, settle = [], now } = batch;
    const head = this.#heads.get(sessionId);
    assertEpoch(sessionId, head.row, batch.epoch);
    const { owner, firstId } = head.row;
    const stored = { firstId, lastId: head.lastId };
    const shape = { sessionId, expectedLastId, count, settle };
    const commands = settle.map(({ commandId }) => this.#rows.commands.find(head.key, commandId));
    if (!mayBeStored(stored, shape, commands) || !this.#isStored(head, batch)) {
      assertContinues(stored, shape, commands);
      const before = head.pos;
      this.#insertAll(head, text, count);
      this.#usage.add(owner, { bytes: head.pos - before });
      if (changes !== undefined) this.#index(head, changes);
      for (const [index, { outcome }] of settle.entries())
        this.#rows.commands.settle(head.key, commands[index] as CommandRow, outcome, now);
    }
    return this.#usage.isFull(owner) || undefined;
  }

  /** Whether the records with the IDs of the batch have its texts. */
  #isStored({ key }: Head, { expectedLastId, count, text }: OperationOf<"append">): boolean {
    return count === 0 || this.#rows.records.read(key, expectedLastId, count, Number.POSITIVE_INFINITY).text === text;
  }

  /** Writes records in rows small enough to be read quickly, because every reader reads the last one. */
  #insertAll(head: Head, text: string, count: number): void {
    if (count === 1 || (count <= MAX_ROW_RECORDS && text.length <= MAX_ROW_LENGTH)) {
      if (count > 0) this.#insert(head, text, count);
      return;
    }
    let lines: string[] = [];
    let length = 0;
    for (const line of text.split("\n")) {
      if (lines.length > 0 && (lines.length >= MAX_ROW_RECORDS || length + line.length > MAX_ROW_LENGTH)) {
        this.#insert(head, lines.join("\n"), lines.length);
        lines = [];
        length = 0;
      }
      lines.push(line);
      length += line.length;
    }
    this.#insert(head, lines.join("\n"), lines.length);
  }

  #insert(head: Head, text: string, count: number): void {
    const { key: session } = head;
    const firstId = head.lastId + 1;
    const lastId = head.lastId + count;
    // Line feeds between records do not count as bytes of the session.
    const pos = head.pos + Buffer.byteLength(text) - (count - 1);
    const crc = checksumOf(session, firstId, lastId, pos, text);
    this.#sql.insertRecord.run(session, lastId, pos, crc, text);
    this.#compactor.note({ session, firstId, lastId, pos, crc, text });
    head.lastId = lastId;
    head.pos = pos;
  }

  #index(head: Head, { starts, ends, landmarks, answered, texts }: IndexChanges): void {
    let updatedAt = Number.NEGATIVE_INFINITY;
    for (const start of starts)
      if (this.#rows.runs.begin(head.key, start)) updatedAt = Math.max(updatedAt, start.startedAt);
    for (const end of ends) if (this.#rows.runs.end(head.key, end)) updatedAt = Math.max(updatedAt, end.endedAt);
    if (updatedAt > Number.NEGATIVE_INFINITY) this.#heads.save(head, { updatedAt });
    for (const landmark of landmarks) this.#rows.landmarks.set(head.key, landmark);
    for (const key of answered) this.#rows.landmarks.delete(head.key, "tool_approval", key);
    for (const { eventId, text } of texts) this.#rows.searchIndex.add(head.row, eventId, text);
  }

  #open(sessionId: string, fresh: Partial<OperationOf<"create">> & { readonly now: number }): Head {
    const { title, owner, firstId = 1, graceMs = 0, carried = [], now } = fresh;
    const known = this.#heads.find(sessionId);
    if (known !== undefined) {
      assertOwnerOf(sessionId, known.row.owner, owner);
      return known;
    }
    const stored = { sessions: 1, bytes: measureRows(carried) };
    this.#usage.assertRoom(owner ?? LOCAL_OWNER, stored);
    this.#usage.add(owner ?? LOCAL_OWNER, stored);
    const created = this.#rows.sessions.create({
      sessionId,
      incarnation: randomUUID(),
      title: title ?? null,
      createdAt: now,
      owner: owner ?? LOCAL_OWNER,
      updatedAt: now,
      firstId,
      basePos: -stored.bytes,
      // An old lease must not be valid in a new session with the same ID.
      epoch: this.#rows.sessions.lastEpoch,
      // `expiresAt` without a holder is the end of the grace period.
      holder: null,
      expiresAt: graceMs === 0 ? 0 : now + graceMs,
      isPinned: Number(fresh.isPinned ?? false),
      isArchived: Number(fresh.isArchived ?? false),
      ...toLineageColumns(sessionId, fresh),
    });
    if (carried.length > 0) this.#rows.carried.replace(created.key, carried);
    if (title !== undefined) this.#rows.searchIndex.add(created, 0, title);
    return this.#heads.get(sessionId);
  }

  #delete({ sessionId, epoch }: OperationOf<"delete">): boolean {
    const head = this.#heads.find(sessionId);
    if (head === undefined) return false;
    if (epoch !== undefined) assertEpoch(sessionId, head.row, epoch);
    this.#usage.remove(head.row, head.pos - head.row.basePos);
    this.#heads.save(head, { sessionId: null, firstId: idAfter(head) });
    this.#rows.sessions.markUnswept(head.row);
    this.#rows.sessions.lastEpoch = Math.max(this.#rows.sessions.lastEpoch, head.row.epoch);
    this.#heads.forget(sessionId);
    return true;
  }

  #acquire(operation: OperationOf<"acquire">): GrantedLease {
    const { sessionId, holder, ttlMs, takeover, create, now } = operation;
    const head = create ? this.#open(sessionId, { now }) : this.#heads.get(sessionId);
    const { holder: current, expiresAt, epoch } = head.row;
    assertFree(sessionId, holderOf(head.row, now), takeover);
    const wasHandedOver = current === null && expiresAt === HANDED_OVER;
    return { ...this.#lease(sessionId, head, epoch + 1, holder, now + ttlMs), wasHandedOver };
  }

  #renew({ sessionId, epoch, ttlMs, now }: OperationOf<"renew">): Lease {
    const head = this.#heads.get(sessionId);
    assertEpoch(sessionId, head.row, epoch);
    return this.#lease(sessionId, head, epoch, head.row.holder, now + ttlMs);
  }

  #release({ sessionId, epoch, handsOver }: OperationOf<"release">): void {
    const head = this.#heads.find(sessionId);
    if (head?.row.epoch === epoch) this.#lease(sessionId, head, epoch + 1, null, handsOver ? HANDED_OVER : 0);
  }

  #lease(sessionId: string, head: Head, epoch: number, holder: string | null, expiresAt: number): Lease {
    this.#heads.save(head, { epoch, holder, expiresAt });
    return { sessionId, epoch, incarnation: head.row.incarnation, lastId: head.lastId, expiresAt };
  }

  #submit(operation: OperationOf<"submit">): CommandRow {
    const { sessionId, now, create, command, interrupt } = operation;
    const found = this.#heads.find(sessionId);
    const state = found && {
      owner: found.row.owner,
      title: found.row.title,
      known: this.#rows.commands.find(found.key, command.commandId),
      knownInterrupt: interrupt && this.#rows.commands.find(found.key, interrupt.commandId),
      load: { ...this.#rows.commands.countPending(found.key), liveRun: this.#rows.runs.listLive(found.key)[0]?.runId },
    };
    const { added, title, needs, runLimit } = acceptCommand(operation, state);
    if (needs !== undefined) this.#usage.assertRoom(found?.row.owner ?? create?.owner ?? LOCAL_OWNER, needs);
    this.#rows.commands.assertRunLimit(runLimit);
    const head = found ?? this.#open(sessionId, { ...create, now });
    if (title !== undefined) this.#setTitle(head, title);
    const rows = added.map((one) => ({ ...one, createdAt: now, outcome: null }));
    for (const row of rows) this.#rows.commands.insert(head.key, row, row.actor);
    return state?.known ?? (rows.at(-1) as CommandRow);
  }
}
