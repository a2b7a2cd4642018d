/**
 * Cuts sessions for `prune-runs.ts`. A cut only moves the first ID of a session; older records can no longer be read. Their
 * rows are deleted later in small transactions, so that writers hardly wait. If the process dies in between, the next
 * sweep continues.
 */
import { Buffer } from "node:buffer";
import type { DatabaseSync } from "node:sqlite";
import { prepareAll, type Statements } from "../../sqlite/database.ts";
import { type CutOutcome, PRUNING_MS } from "../prune-runs.ts";
import type { CarriedRow } from "./carried-rows.ts";
import type { Heads } from "./heads.ts";
import type { OperationOf } from "./operations.ts";
import type { OwnerUsageRows } from "./owner-usage-rows.ts";
import { MAX_INDEXED_ID } from "./search-index.ts";
import type { StoredSession } from "./session-rows.ts";
import type { StoreRows } from "./store-rows.ts";

/**
 * Limits of one transaction: rows deleted, chunks swept, words deleted from the search index (about 0.1 ms each).
 */
const MAX_SWEPT = 2000;
const MAX_CHUNKS_SWEPT = 100;
const MAX_WORDS_SWEPT = 256;
/** Pages returned to the file system in one transaction. */
const MAX_PAGES_FREED = 1024;

/** What one transaction of a sweep may still delete. */
interface SweepRoom {
  words: number;
}

const STATEMENTS = {
  // The clock may have been set back.
  hold: `UPDATE pruning SET holder = ?1, expires_at = ?3
    WHERE holder = ?1 OR expires_at <= ?2 OR expires_at > ?2 + ${PRUNING_MS}`,
  renew: "UPDATE pruning SET expires_at = ?2 WHERE holder = ?1",
  newestRun: "SELECT coalesce(max(first_id), 0) AS firstId FROM runs WHERE session = ?",
  cutRuns: "DELETE FROM runs WHERE session = ? AND last_id <= ?",
  cutLandmarks: "DELETE FROM landmarks WHERE session = ? AND event_id <= ?",
  dropCommands: `DELETE FROM commands WHERE seq IN
    (SELECT seq FROM commands WHERE outcome IS NOT NULL AND settled_at < ? LIMIT ${MAX_SWEPT})`,
  sweepChunks: `DELETE FROM chunks WHERE pk IN
    (SELECT pk FROM chunks WHERE session = ? AND last_id < ? ORDER BY last_id LIMIT ${MAX_CHUNKS_SWEPT})`,
  sweepRecent: "DELETE FROM recent WHERE session = ? AND id < ?",
  swept: "UPDATE sessions SET unswept = 0 WHERE key = ?",
  dropRuns: `DELETE FROM runs WHERE session = ?1 AND run_id IN
    (SELECT run_id FROM runs WHERE session = ?1 LIMIT ${MAX_SWEPT})`,
  dropLandmarks: `DELETE FROM landmarks WHERE session = ?1 AND (kind, key) IN
    (SELECT kind, key FROM landmarks WHERE session = ?1 LIMIT ${MAX_SWEPT})`,
  dropInbox: `DELETE FROM commands WHERE seq IN (SELECT seq FROM commands WHERE session = ? LIMIT ${MAX_SWEPT})`,
  dropCarried: `DELETE FROM carried WHERE pk IN (SELECT pk FROM carried WHERE session = ? LIMIT ${MAX_SWEPT})`,
  dropExtent: "DELETE FROM extents WHERE session = ?",
  dropSession: "DELETE FROM sessions WHERE key = ?",
  vacuum: `PRAGMA incremental_vacuum(${MAX_PAGES_FREED})`,
  free: "PRAGMA freelist_count",
} as const;

export class Pruner {
  readonly #rows: StoreRows;
  readonly #heads: Heads;
  readonly #usage: OwnerUsageRows;
  readonly #sql: Statements<typeof STATEMENTS>;

  constructor(db: DatabaseSync, rows: StoreRows, heads: Heads, usage: OwnerUsageRows) {
    this.#rows = rows;
    this.#heads = heads;
    this.#usage = usage;
    this.#sql = prepareAll(db, STATEMENTS);
  }

  /** Takes or renews the right to prune; returns false if another call has it. */
  hold({ holder, now, expiresAt }: OperationOf<"hold-pruning">): boolean {
    return this.#sql.hold.run(holder, now, expiresAt).changes > 0;
  }

  /** Throws `store_corrupt` if rows are damaged, before changing anything. */
  cut({ holder, key, sessionId, firstId, newestRun, lastId, carried, expiresAt }: OperationOf<"cut">): CutOutcome {
    if (this.#sql.renew.run(holder, expiresAt).changes === 0) return "lost";
    const head = this.#heads.find(sessionId);
    const newest = this.#sql.newestRun.get(key) as { firstId: number };
    if (head?.key !== key || head.row.firstId !== firstId || newest.firstId !== newestRun) return "changed";
    // A damaged row must not decide what is deleted.
    this.#rows.runs.assertEnded(key, lastId);
    const basePos = this.#rows.records.findPosition(key, lastId) - measureRows(carried);
    const bytes = basePos - head.row.basePos;
    this.#usage.add(head.row.owner, { bytes: -bytes });
    this.#heads.save(head, { firstId: lastId + 1, basePos });
    this.#rows.sessions.markUnswept(head.row);
    this.#rows.carried.replace(key, carried);
    const runs = Number(this.#sql.cutRuns.run(key, lastId).changes);
    this.#sql.cutLandmarks.run(key, lastId);
    this.#heads.forget(sessionId);
    return { runs, records: lastId + 1 - firstId, bytes };
  }

  /** Deletes some commands settled before `before`; returns true if there may be more. */
  dropCommands({ before }: OperationOf<"drop-commands">): boolean {
    return this.#sql.dropCommands.run(before).changes === MAX_SWEPT;
  }

  /**
   * Deletes rows of pruned and deleted sessions, and returns free pages, which may still contain their texts. Returns
   * false if nothing is left.
   */
  sweep(): boolean {
    let swept = 0;
    const room: SweepRoom = { words: MAX_WORDS_SWEPT };
    for (const waste of this.#rows.sessions.listUnswept(MAX_CHUNKS_SWEPT)) {
      swept += 1 + this.#sweepSession(waste, room);
      if (swept >= MAX_CHUNKS_SWEPT) break;
    }
    if (swept > 0) return true;
    const isMerging = this.#rows.searchIndex.merge();
    const before = this.#countFree();
    this.#sql.vacuum.all();
    const free = this.#countFree();
    return isMerging || (free > 0 && free < before);
  }

  #countFree(): number {
    return (this.#sql.free.get() as { freelist_count: number }).freelist_count;
  }

  /** Returns the number of deleted chunks, or `MAX_CHUNKS_SWEPT` if this transaction must not delete more. */
  #sweepSession(session: StoredSession, room: SweepRoom): number {
    const { key, sessionId } = session;
    const isDeleted = sessionId === null;
    // A deleted session keeps nothing, not even the highest record ID.
    const firstId = isDeleted ? Number.POSITIVE_INFINITY : session.firstId;
    this.#rows.snapshots.cut(key, firstId);
    this.#sql.sweepRecent.run(key, firstId);
    const { changes } = this.#sql.sweepChunks.run(key, firstId);
    if (changes === MAX_CHUNKS_SWEPT) return MAX_CHUNKS_SWEPT;
    // Record 0 is the title.
    const [from, to] = isDeleted ? [0, MAX_INDEXED_ID] : [1, firstId - 1];
    room.words = this.#rows.searchIndex.drop(session, from, to, room.words);
    if (room.words === 0) return MAX_CHUNKS_SWEPT;
    if (!isDeleted) {
      this.#sql.swept.run(key);
      return Number(changes);
    }
    const { dropRuns, dropLandmarks, dropInbox, dropCarried } = this.#sql;
    for (const drop of [dropRuns, dropLandmarks, dropInbox, dropCarried])
      if (Number(drop.run(key).changes) >= MAX_SWEPT) return MAX_CHUNKS_SWEPT;
    this.#sql.dropExtent.run(key);
    this.#sql.dropSession.run(key);
    return Number(changes);
  }
}

/** Size of carried records in bytes. */
export function measureRows(rows: readonly CarriedRow[]): number {
  return rows.reduce((sum, { text }) => sum + Buffer.byteLength(text), 0);
}
