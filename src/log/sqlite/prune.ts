/**
 * Retention in a store. A cut only moves a session's first id: what lies before it is refused from then on. The rows go
 * afterwards, a few at a time, so that writers hardly wait; a process that dies in between leaves them to the next. A
 * session that is damaged is left as it is, and told of: the others need not suffer for it.
 */
import type { DatabaseSync } from "node:sqlite";
import { isLoomError } from "../../protocol/loom-error.ts";
import type { PruneReport } from "../log.ts";
import { prepareAll, type Statements } from "./connection.ts";
import type { Heads } from "./heads.ts";
import type { Operation } from "./operations.ts";
import type { Records } from "./records.ts";
import type { RunRows } from "./run-rows.ts";
import { MAX_INDEXED_ID, type SaidRows } from "./said-rows.ts";
import type { SessionRow, SessionRows } from "./session-rows.ts";

type Of<D extends Operation["do"]> = Extract<Operation, { readonly do: D }>;

/** Of one transaction: sessions looked at, cuts, answered commands dropped, chunks swept. */
const MAX_SESSIONS = 100;
const MAX_CUTS = 50;
const MAX_SWEPT = 2000;
const MAX_CHUNKS_SWEPT = 100;
/** Pages given back in one transaction. */
const MAX_PAGES_FREED = 1024;

interface Rows {
  readonly sessions: SessionRows;
  readonly runs: RunRows;
  readonly records: Records;
  readonly said: SaidRows;
}

interface Candidate {
  readonly key: number;
  readonly sessionId: string;
  bytes: number;
  /** Where the next cut would be: no run lies on both sides of it. */
  cut: Cut | undefined;
}

interface Cut {
  readonly lastId: number;
  readonly endedAt: number;
  readonly runs: number;
}

/** What one transaction took. */
interface Taken {
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
  dropRuns: "DELETE FROM runs WHERE session = ?",
  dropLandmarks: "DELETE FROM landmarks WHERE session = ?",
  dropInbox: "DELETE FROM commands WHERE session = ?",
  dropExtent: "DELETE FROM extents WHERE session = ?",
  dropSession: "DELETE FROM sessions WHERE key = ?",
  vacuum: `PRAGMA incremental_vacuum(${MAX_PAGES_FREED})`,
  free: "PRAGMA freelist_count",
} as const;

export class Pruner {
  readonly #heads: Heads;
  readonly #rows: Rows;
  readonly #sql: Statements<typeof STATEMENTS>;
  /** What could still be cut of the sessions that were looked at. */
  #plan: Candidate[] = [];

  constructor(db: DatabaseSync, heads: Heads, rows: Rows) {
    this.#heads = heads;
    this.#rows = rows;
    this.#sql = prepareAll(db, STATEMENTS);
  }

  /** Looks at some sessions, as many as fit one transaction; `after` says where to go on, and is absent at the end. */
  prune({ after, maxAgeMs, maxSessionBytes, now }: Of<"prune">): PruneReport & { kept: number; after?: number } {
    const report = { runs: 0, records: 0, bytes: 0, damaged: [] as string[], kept: 0 };
    if (after === 0) this.#plan = [];
    const isDue = ({ bytes }: Candidate, { endedAt }: Cut): boolean =>
      (maxAgeMs !== undefined && endedAt < now - maxAgeMs) ||
      (maxSessionBytes !== undefined && bytes > maxSessionBytes);
    const names = this.#sql.names.all(after) as { key: number; sessionId: string }[];
    for (const { key, sessionId } of names) {
      const candidate: Candidate = { key, sessionId, bytes: 0, cut: undefined };
      passOverDamage(candidate, report, () => {
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
      if (candidate.cut !== undefined) this.#plan.push(candidate);
    }
    const last = names.at(-1)?.key;
    return names.length < MAX_SESSIONS || last === undefined ? report : { ...report, after: last };
  }

  /** Cuts what ended first, wherever it is, among the sessions `prune` has looked at. Nothing more goes when it reports 0 runs. */
  pruneOldest({ excess }: Of<"prune-oldest">): PruneReport {
    const report: Taken = { runs: 0, records: 0, bytes: 0, damaged: [] };
    while (report.bytes < excess && report.runs < MAX_CUTS) {
      const oldest = findOldest(this.#plan);
      if (oldest === undefined) break;
      passOverDamage(oldest, report, () => {
        // It may have been deleted or cut since.
        const head = this.#heads.find(oldest.sessionId);
        oldest.cut = head?.key === oldest.key ? this.#findCut(oldest.key) : undefined;
        if (head === undefined || oldest.cut === undefined) return;
        oldest.bytes = head.pos - head.row.basePos;
        this.#apply(oldest, oldest.cut, report);
      });
    }
    return report;
  }

  /** Forgets some of the commands that were answered before; true when there may be more. */
  dropCommands({ before }: Of<"drop-commands">): boolean {
    return this.#sql.dropCommands.run(before).changes === MAX_SWEPT;
  }

  /** The first place where the session can be cut: at the end of a run, and inside of none. */
  #findCut(key: number): Cut | undefined {
    let { lastId } = this.#sql.oldestEnd.get(key) as { lastId: number | null };
    if (lastId === null) return undefined;
    const { firstId: firstLive } = this.#sql.firstLive.get(key) as { firstId: number | null };
    for (;;) {
      if (firstLive !== null && firstLive < lastId) return undefined;
      const reached = this.#sql.furthest.get(key, lastId) as { lastId: number; endedAt: number; runs: number };
      if (reached.lastId === lastId) return { ...reached };
      lastId = reached.lastId;
    }
  }

  /** Throws where it finds damage, having changed nothing. */
  #apply(candidate: Candidate, { lastId, runs }: Cut, report: Taken): void {
    const { key, sessionId } = candidate;
    // A damaged row must not say what is to be thrown away.
    this.#rows.runs.assertEnded(key, lastId);
    const pos = this.#rows.records.findPosition(key, lastId);
    const head = this.#heads.get(sessionId);
    const kept = head.pos - pos;
    report.runs += runs;
    report.records += lastId + 1 - head.row.firstId;
    report.bytes += candidate.bytes - kept;
    this.#heads.save(head, { firstId: lastId + 1, basePos: pos });
    this.#rows.sessions.markUnswept(head.row);
    this.#sql.cutRuns.run(key, lastId);
    this.#sql.cutLandmarks.run(key, lastId);
    this.#rows.said.drop(key, 1, lastId);
    this.#heads.forget(sessionId);
    candidate.bytes = kept;
    candidate.cut = this.#findCut(key);
  }

  /** Removes some rows that are no longer held, and free pages, which have texts of theirs. False when none are left. */
  sweep(): boolean {
    let swept = 0;
    for (const waste of this.#rows.sessions.listUnswept(MAX_CHUNKS_SWEPT)) {
      swept += 1 + this.#sweepSession(waste);
      if (swept >= MAX_CHUNKS_SWEPT) break;
    }
    const before = this.#countFree();
    this.#sql.vacuum.all();
    const free = this.#countFree();
    return swept > 0 || (free > 0 && free < before);
  }

  #countFree(): number {
    return (this.#sql.free.get() as { freelist_count: number }).freelist_count;
  }

  /** How many chunks went. */
  #sweepSession({ key, firstId, sessionId }: SessionRow): number {
    this.#sql.sweepRecent.run(key, firstId);
    const { changes } = this.#sql.sweepChunks.run(key, firstId);
    if (changes === MAX_CHUNKS_SWEPT) return MAX_CHUNKS_SWEPT;
    if (sessionId === null) {
      this.#sql.dropRuns.run(key);
      this.#sql.dropLandmarks.run(key);
      this.#sql.dropInbox.run(key);
      this.#sql.dropExtent.run(key);
      this.#rows.said.drop(key, 0, MAX_INDEXED_ID);
      this.#sql.dropSession.run(key);
    } else {
      this.#sql.swept.run(key);
    }
    return Number(changes);
  }
}

/** A session that turns out to be damaged has nothing more to be cut. */
function passOverDamage(candidate: Candidate, { damaged }: Taken, take: () => void): void {
  try {
    take();
  } catch (error) {
    if (!isLoomError(error, "store_corrupt")) throw error;
    candidate.cut = undefined;
    damaged.push(candidate.sessionId);
  }
}

function findOldest(candidates: readonly Candidate[]): Candidate | undefined {
  let oldest: Candidate | undefined;
  for (const candidate of candidates) {
    if (candidate.cut === undefined) continue;
    if (oldest?.cut === undefined || candidate.cut.endedAt < oldest.cut.endedAt) oldest = candidate;
  }
  return oldest;
}
