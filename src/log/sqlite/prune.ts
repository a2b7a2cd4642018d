/**
 * Retention in a store. A cut only moves a session's first id: what lies before it is refused from then on. The rows go
 * afterwards, a few at a time, so that writers hardly wait; a process that dies in between leaves them to the next.
 */
import type { DatabaseSync } from "node:sqlite";
import type { PruneReport } from "../log.ts";
import { SETTLED_COMMANDS_MS } from "../rules.ts";
import { prepareAll, type Statements } from "./connection.ts";
import type { Heads } from "./heads.ts";
import type { Operation } from "./operations.ts";
import type { Records } from "./records.ts";
import type { RunRows } from "./run-rows.ts";
import type { SessionRows } from "./session-rows.ts";

type Prune = Extract<Operation, { readonly do: "prune" }>;

/** Of one transaction: cuts, answered commands dropped, chunks swept. */
const MAX_CUTS = 200;
const MAX_SWEPT = 2000;
const MAX_CHUNKS_SWEPT = 100;

interface Rows {
  readonly sessions: SessionRows;
  readonly runs: RunRows;
  readonly records: Records;
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

const STATEMENTS = {
  names: "SELECT session_id AS sessionId FROM sessions WHERE session_id IS NOT NULL ORDER BY key",
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
  vacuum: "PRAGMA incremental_vacuum(2000)",
} as const;

export class Pruner {
  readonly #heads: Heads;
  readonly #rows: Rows;
  readonly #sql: Statements<typeof STATEMENTS>;

  constructor(db: DatabaseSync, heads: Heads, rows: Rows) {
    this.#heads = heads;
    this.#rows = rows;
    this.#sql = prepareAll(db, STATEMENTS);
  }

  /** As much as fits one transaction; `more` says that it should be asked again. */
  prune({ maxAgeMs, maxSessionBytes, maxBytes, now }: Prune): PruneReport & { more: boolean } {
    const report = { runs: 0, records: 0, bytes: 0, more: false };
    const names = this.#sql.names.all() as { sessionId: string }[];
    const candidates = names.map(({ sessionId }): Candidate => {
      const { key, pos, row } = this.#heads.get(sessionId);
      return { key, sessionId, bytes: pos - row.basePos, cut: this.#findCut(key) };
    });
    const isFull = (): boolean => {
      report.more = report.runs >= MAX_CUTS;
      return report.more;
    };
    for (const candidate of candidates) {
      while (candidate.cut !== undefined && !isFull()) {
        const isOld = maxAgeMs !== undefined && candidate.cut.endedAt < now - maxAgeMs;
        if (!isOld && (maxSessionBytes === undefined || candidate.bytes <= maxSessionBytes)) break;
        this.#apply(candidate, candidate.cut, report);
      }
    }
    let total = candidates.reduce((sum, { bytes }) => sum + bytes, 0);
    const most = maxBytes ?? Number.POSITIVE_INFINITY;
    while (total > most && !isFull()) {
      const oldest = findOldest(candidates);
      if (oldest?.cut === undefined) break;
      total -= this.#apply(oldest, oldest.cut, report);
    }
    const { changes } = this.#sql.dropCommands.run(now - (maxAgeMs ?? SETTLED_COMMANDS_MS));
    if (changes === MAX_SWEPT) report.more = true;
    return report;
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

  /** The bytes that went. */
  #apply(
    candidate: Candidate,
    { lastId, runs }: Cut,
    report: { runs: number; records: number; bytes: number },
  ): number {
    const { key, sessionId } = candidate;
    // A damaged row must not say what is to be thrown away.
    this.#rows.runs.assertEnded(key, lastId);
    const pos = this.#rows.records.findPosition(key, lastId);
    const head = this.#heads.get(sessionId);
    const kept = head.pos - pos;
    const bytes = candidate.bytes - kept;
    report.runs += runs;
    report.records += lastId + 1 - head.row.firstId;
    report.bytes += bytes;
    this.#heads.save(head, { firstId: lastId + 1, basePos: pos });
    this.#rows.sessions.markUnswept(head.row);
    this.#sql.cutRuns.run(key, lastId);
    this.#sql.cutLandmarks.run(key, lastId);
    this.#heads.forget(sessionId);
    candidate.bytes = kept;
    candidate.cut = this.#findCut(key);
    return bytes;
  }

  /** Removes some rows that are no longer held. False when there are none left. */
  sweep(): boolean {
    const waste = this.#rows.sessions.findUnswept();
    if (waste === undefined) return false;
    this.#sql.sweepRecent.run(waste.key, waste.firstId);
    const { changes } = this.#sql.sweepChunks.run(waste.key, waste.firstId);
    if (changes === MAX_CHUNKS_SWEPT) return true;
    if (waste.sessionId === null) {
      this.#sql.dropRuns.run(waste.key);
      this.#sql.dropLandmarks.run(waste.key);
      this.#sql.dropInbox.run(waste.key);
      this.#sql.dropExtent.run(waste.key);
      this.#sql.dropSession.run(waste.key);
    } else {
      this.#sql.swept.run(waste.key);
    }
    this.#sql.vacuum.all();
    return true;
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
