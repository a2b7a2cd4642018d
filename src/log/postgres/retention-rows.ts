/** Retention: lists, measures and cuts sessions for `prune-runs.ts`. Only a session that is cut is locked. */
import type { PostgresDatabase, SqlRunner } from "../../postgres/postgres-database.ts";
import { fromColumn, toColumn } from "../../postgres/text-column.ts";
import { measureEntries } from "../entry.ts";
import {
  type CutOutcome,
  type EndedRun,
  ENDED_RUNS,
  LARGE_SESSIONS,
  type PrunableRun,
  type PrunableSession,
  type PrunableStore,
  PRUNING_MS,
  type SessionCut,
} from "../prune-runs.ts";
import { findPosition, insertCarried } from "./record-rows.ts";
import { lockSession } from "./session-rows.ts";

const MAX_COMMANDS = 2000;

// The clock of the database may have been set back.
const HOLD = `UPDATE @.pruning SET holder = $1, expires_at = @now + ${PRUNING_MS}
  WHERE holder = $1 OR expires_at <= @now OR expires_at > @now + ${PRUNING_MS} RETURNING holder`;
const RENEW = `UPDATE @.pruning SET expires_at = @now + ${PRUNING_MS} WHERE holder = $1 RETURNING holder`;
const RELEASE = "UPDATE @.pruning SET expires_at = 0 WHERE holder = $1";

const MEASURE = `SELECT coalesce(sum(pos - base_pos), 0)::bigint AS bytes FROM @.sessions WHERE session_id IS NOT NULL`;

const ENDED = `SELECT s.key, s.session_id AS "sessionId", r.run_id AS "runId", r.ended_at AS "endedAt"
  FROM @.runs r JOIN @.sessions s ON s.key = r.session
  WHERE r.last_id IS NOT NULL AND r.ended_at < $1 AND (r.ended_at, r.session, r.run_id) > ($2, $3, $4)
    AND s.session_id IS NOT NULL ORDER BY r.ended_at, r.session, r.run_id LIMIT ${ENDED_RUNS}`;

const LARGE = `SELECT key, session_id AS "sessionId" FROM @.sessions
  WHERE session_id IS NOT NULL AND key > $1 AND pos - base_pos > $2 ORDER BY key LIMIT ${LARGE_SESSIONS}`;

const RUNS = `SELECT first_id AS "firstId", last_id AS "lastId", ended_at AS "endedAt" FROM @.runs
  WHERE session = $1 ORDER BY first_id LIMIT $2`;

const END = "SELECT pos FROM @.sessions WHERE key = $1";
const NEWEST = `SELECT coalesce(max(first_id), 0) AS "firstId" FROM @.runs WHERE session = $1`;
const CUT = "UPDATE @.sessions SET first_id = $2, base_pos = $3, changes = changes + 1 WHERE key = $1";

/** Rows before the first record, from tables with the column in question. */
const DELETES = [
  "DELETE FROM @.records WHERE session = $1 AND last_id < $2",
  "DELETE FROM @.landmarks WHERE session = $1 AND event_id < $2",
  "DELETE FROM @.snapshots WHERE session = $1 AND event_id < $2",
  "DELETE FROM @.carried WHERE session = $1 AND event_id < $2",
  // Record 0 is the title.
  "DELETE FROM @.texts WHERE session = $1 AND event_id < $2 AND event_id > 0",
] as const;
const DELETE_RUNS = "DELETE FROM @.runs WHERE session = $1 AND last_id < $2 RETURNING run_id";

const DROP_COMMANDS = `DELETE FROM @.commands WHERE seq IN
  (SELECT seq FROM @.commands WHERE outcome IS NOT NULL AND settled_at < $1 LIMIT ${MAX_COMMANDS}) RETURNING seq`;

/** `onCut` is called with each session that was cut. */
export function createPruner(db: PostgresDatabase, onCut: (sessionId: string) => void): PrunableStore {
  return {
    hold: async (holder) => (await db.write(HOLD, [holder])).length > 0,
    release: async (holder) => void (await db.write(RELEASE, [holder])),
    measure: async () => (await db.read<{ bytes: number }>(MEASURE))[0]?.bytes ?? 0,
    listEnded: async (before, after) => {
      const { endedAt = -Infinity, key = 0, runId = "" } = after ?? {};
      const rows = await db.read<EndedRun>(ENDED, [before, endedAt, key, toColumn(runId)]);
      return rows.map((row) => ({ ...named(row), endedAt: row.endedAt, runId: fromColumn(row.runId) }));
    },
    listLarge: async (bytes, afterKey) => (await db.read<PrunableSession>(LARGE, [afterKey, bytes])).map(named),
    listRuns: async (key, limit) => db.read<PrunableRun>(RUNS, [key, limit]),
    measureAfter: async (key, id) => {
      const [end] = await db.read<{ pos: number }>(END, [key]);
      return end === undefined ? 0 : end.pos - (await findPosition(db.reader, key, id));
    },
    cut: async (cut) => {
      const outcome = await db.transact((transaction) => cutSession(transaction, cut));
      if (typeof outcome === "object") onCut(cut.sessionId);
      return outcome;
    },
  };
}

function named({ key, sessionId }: PrunableSession): PrunableSession {
  return { key, sessionId: fromColumn(sessionId) };
}

async function cutSession(
  transaction: SqlRunner,
  { holder, key, sessionId, firstId, newestRun, lastId, carried }: SessionCut,
): Promise<CutOutcome> {
  const { query } = transaction;
  if ((await query(RENEW, [holder])).length === 0) return "lost";
  const head = await lockSession(transaction, sessionId);
  const [newest] = await query<{ readonly firstId: number }>(NEWEST, [key]);
  if (head?.key !== key || head.firstId !== firstId || newest?.firstId !== newestRun) return "changed";
  const basePos = (await findPosition(transaction, key, lastId)) - measureEntries(carried);
  await query(CUT, [key, lastId + 1, basePos]);
  const runs = await query(DELETE_RUNS, [key, lastId + 1]);
  for (const sql of DELETES) await query(sql, [key, lastId + 1]);
  await insertCarried(transaction, key, carried);
  return { runs: runs.length, records: lastId + 1 - firstId, bytes: basePos - head.basePos };
}

/** Deletes the outcomes of commands that were settled before this time. */
export async function dropCommands(db: PostgresDatabase, before: number): Promise<void> {
  while ((await db.write(DROP_COMMANDS, [before])).length === MAX_COMMANDS);
}
