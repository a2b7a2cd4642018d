/**
 * Retention in a store. Pruning a session only moves its first ID; older records can no longer be read. Their rows are
 * deleted later in small transactions, so that writers hardly wait. If the process dies in between, the next sweep
 * continues. Damaged sessions are skipped and reported.
 */
import type { DatabaseSync } from "node:sqlite";
import { isLoomError } from "../../protocol/loom-error.ts";
import { prepareAll, type Statements } from "../../sqlite/database.ts";
import type { PruneReport } from "../retention-policy.ts";
import type { Heads } from "./heads.ts";
import type { OperationOf } from "./operations.ts";
import type { OwnerUsageRows } from "./owner-usage-rows.ts";
import type { Records } from "./records.ts";
import type { RunRows } from "./run-rows.ts";
import { MAX_INDEXED_ID, type SearchIndex } from "./search-index.ts";
import type { SnapshotRows } from "./snapshot-rows.ts";
import type { StoredSession, SessionRows } from "./session-rows.ts";

/**
 * Limits of one transaction: sessions checked, runs pruned, other rows deleted, chunks swept, words deleted from the
 * search index (about 0.1 ms each).
 */
const MAX_SESSIONS = 100;
const MAX_CUTS = 50;
const MAX_SWEPT = 2000;
const MAX_CHUNKS_SWEPT = 100;
const MAX_WORDS_SWEPT = 256;
/** Pages returned to the file system in one transaction. */
const MAX_PAGES_FREED = 1024;

interface Rows {
  readonly sessions: SessionRows;
  readonly runs: RunRows;
  readonly records: Records;
  readonly searchIndex: SearchIndex;
  readonly snapshots: SnapshotRows;
  readonly usage: OwnerUsageRows;
}

interface PruneCandidate {
  readonly key: number;
  readonly sessionId: string;
  bytes: number;
  /** The next position to prune to: no run spans it. */
  cut: PruneCut | undefined;
}

interface PruneCut {
  readonly lastId: number;
  readonly endedAt: number;
  readonly runs: number;
}

/** What one transaction of a sweep may still delete. */
interface SweepRoom {
  words: number;
}

/** What one transaction pruned. */
interface PruneTotals {
  runs: number;
  records: number;
  bytes: number;
  readonly damaged: string[];
}

const STATEMENTS = {
  names: `SELECT key, session_id AS sessionId FROM sessions WHERE session_id IS NOT NULL AND key > ?
    ORDER BY key LIMIT ${MAX_SESSIONS}`,
  oldestEnd: "SELECT min(last_id) AS lastId FROM runs WHERE session = ? AND last_id IS NOT NULL",
  firstLive: "SELECT min(first_id) AS firstId FROM runs WHERE session = ? AND last_id IS NULL",
  furthest: `SELECT max(last_id) AS lastId, max(ended_at) AS endedAt, count(*) AS runs
    FROM runs WHERE session = ? AND first_id <= ? AND last_id IS NOT NULL`,
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
  dropExtent: "DELETE FROM extents WHERE session = ?",
  dropSession: "DELETE FROM sessions WHERE key = ?",
  vacuum: `PRAGMA incremental_vacuum(${MAX_PAGES_FREED})`,
  free: "PRAGMA freelist_count",
} as const;

export class Pruner {
  readonly #heads: Heads;
  readonly #rows: Rows;
  readonly #sql: Statements<typeof STATEMENTS>;
  /** Sessions checked so far from which more can be pruned. */
  #candidates: PruneCandidate[] = [];

  constructor(db: DatabaseSync, heads: Heads, rows: Rows) {
    this.#heads = heads;
    this.#rows = rows;
    this.#sql = prepareAll(db, STATEMENTS);
  }

  /**
   * Prunes as many sessions as fit into one transaction. The result has an `after` to continue with, unless all
   * sessions are done.
   */
  prune({
    after,
    maxAgeMs,
    maxSessionBytes,
    now,
  }: OperationOf<"prune">): PruneReport & { kept: number; after?: number } {
    const report = { runs: 0, records: 0, bytes: 0, damaged: [] as string[], kept: 0 };
    if (after === 0) this.#candidates = [];
    const isDue = ({ bytes }: PruneCandidate, { endedAt }: PruneCut): boolean =>
      (maxAgeMs !== undefined && endedAt < now - maxAgeMs) ||
      (maxSessionBytes !== undefined && bytes > maxSessionBytes);
    const names = this.#sql.names.all(after) as { key: number; sessionId: string }[];
    for (const { key, sessionId } of names) {
      const candidate: PruneCandidate = { key, sessionId, bytes: 0, cut: undefined };
      skipIfDamaged(candidate, report, () => {
        const { pos, row } = this.#heads.get(sessionId);
        candidate.bytes = pos - row.basePos;
        candidate.cut = this.#findCut(key);
        while (candidate.cut !== undefined && report.runs < MAX_CUTS) {
          if (!isDue(candidate, candidate.cut)) break;
          this.#apply(candidate, candidate.cut, report);
        }
      });
      if (candidate.cut !== undefined && isDue(candidate, candidate.cut)) return { ...report, after: key - 1 };
      report.kept += candidate.bytes;
      if (candidate.cut !== undefined) this.#candidates.push(candidate);
    }
    const last = names.at(-1)?.key;
    return names.length < MAX_SESSIONS || last === undefined ? report : { ...report, after: last };
  }

  /**
   * Prunes the runs that ended first, across all sessions checked by `prune`, until `excess` bytes are freed. Reports 0
   * runs if nothing more can be pruned.
   */
  pruneOldest({ excess }: OperationOf<"prune-oldest">): PruneReport {
    const report: PruneTotals = { runs: 0, records: 0, bytes: 0, damaged: [] };
    while (report.bytes < excess && report.runs < MAX_CUTS) {
      const oldest = findOldest(this.#candidates);
      if (oldest === undefined) break;
      skipIfDamaged(oldest, report, () => {
        // The session may have been deleted or pruned since.
        const head = this.#heads.find(oldest.sessionId);
        oldest.cut = head?.key === oldest.key ? this.#findCut(oldest.key) : undefined;
        if (head === undefined || oldest.cut === undefined) return;
        oldest.bytes = head.pos - head.row.basePos;
        this.#apply(oldest, oldest.cut, report);
      });
    }
    return report;
  }

  /** Deletes some commands settled before `before`; returns true if there may be more. */
  dropCommands({ before }: OperationOf<"drop-commands">): boolean {
    return this.#sql.dropCommands.run(before).changes === MAX_SWEPT;
  }

  /** Finds the first position at the end of a run that no other run spans. */
  #findCut(key: number): PruneCut | undefined {
    let { lastId } = this.#sql.oldestEnd.get(key) as { lastId: number | null };
    if (lastId === null) return undefined;
    const { firstId: firstLive } = this.#sql.firstLive.get(key) as { firstId: number | null };
    for (;;) {
      if (firstLive !== null && firstLive < lastId) return undefined;
      const reached = this.#sql.furthest.get(key, lastId) as { lastId: number; endedAt: number; runs: number };
      // After the highest record ID, no ID is left with which the session could start.
      if (reached.lastId === Number.MAX_SAFE_INTEGER) return undefined;
      if (reached.lastId === lastId) return { ...reached };
      lastId = reached.lastId;
    }
  }

  /** Throws `store_corrupt` if rows are damaged, before changing anything. */
  #apply(candidate: PruneCandidate, { lastId, runs }: PruneCut, report: PruneTotals): void {
    const { key, sessionId } = candidate;
    // A damaged row must not decide what is deleted.
    this.#rows.runs.assertEnded(key, lastId);
    const pos = this.#rows.records.findPosition(key, lastId);
    const head = this.#heads.get(sessionId);
    const kept = head.pos - pos;
    report.runs += runs;
    report.records += lastId + 1 - head.row.firstId;
    report.bytes += candidate.bytes - kept;
    this.#rows.usage.add(head.row.owner, { bytes: kept - (head.pos - head.row.basePos) });
    this.#heads.save(head, { firstId: lastId + 1, basePos: pos });
    this.#rows.sessions.markUnswept(head.row);
    this.#sql.cutRuns.run(key, lastId);
    this.#sql.cutLandmarks.run(key, lastId);
    this.#heads.forget(sessionId);
    candidate.bytes = kept;
    candidate.cut = this.#findCut(key);
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
    const { dropRuns, dropLandmarks, dropInbox } = this.#sql;
    for (const drop of [dropRuns, dropLandmarks, dropInbox])
      if (Number(drop.run(key).changes) >= MAX_SWEPT) return MAX_CHUNKS_SWEPT;
    this.#sql.dropExtent.run(key);
    this.#sql.dropSession.run(key);
    return Number(changes);
  }
}

/** Reports a damaged session and stops pruning it. */
function skipIfDamaged(candidate: PruneCandidate, { damaged }: PruneTotals, take: () => void): void {
  try {
    take();
  } catch (error) {
    if (!isLoomError(error, "store_corrupt")) throw error;
    candidate.cut = undefined;
    damaged.push(candidate.sessionId);
  }
}

function findOldest(candidates: readonly PruneCandidate[]): PruneCandidate | undefined {
  let oldest: PruneCandidate | undefined;
  for (const candidate of candidates) {
    if (candidate.cut === undefined) continue;
    if (oldest?.cut === undefined || candidate.cut.endedAt < oldest.cut.endedAt) oldest = candidate;
  }
  return oldest;
}
