/**
 * Retention: deletes ended runs and the records before them, one session per transaction, so that writers of other
 * sessions do not wait. Damaged sessions are skipped and reported.
 */
import type { PostgresDatabase, Transaction } from "../../postgres/postgres-database.ts";
import { isLoomError } from "../../protocol/loom-error.ts";
import type { PruneReport, RetentionPolicy } from "../retention-policy.ts";
import { SETTLED_COMMANDS_MS } from "../rules.ts";
import { findPosition } from "./record-rows.ts";
import { lockSession, NOW, type StoredHead } from "./session-rows.ts";
import { fromColumn } from "../../postgres/text-column.ts";

const MAX_SESSIONS = 1000;
const MAX_COMMANDS = 2000;

const LIST = `SELECT s.key, s.session_id AS "sessionId" FROM @.sessions s
  WHERE s.session_id IS NOT NULL AND s.key > $1
    AND EXISTS (SELECT 1 FROM @.runs r WHERE r.session = s.key AND r.last_id IS NOT NULL)
  ORDER BY s.key LIMIT ${MAX_SESSIONS}`;

const RUNS = `SELECT first_id AS "firstId", last_id AS "lastId", ended_at AS "endedAt" FROM @.runs
  WHERE session = $1 ORDER BY first_id`;

const CUT = "UPDATE @.sessions SET first_id = $2, base_pos = $3, changes = changes + 1 WHERE key = $1";

/** Rows before the first record, from tables with the column in question. */
const DELETES = [
  "DELETE FROM @.records WHERE session = $1 AND last_id < $2",
  "DELETE FROM @.runs WHERE session = $1 AND last_id < $2",
  "DELETE FROM @.landmarks WHERE session = $1 AND event_id < $2",
  "DELETE FROM @.snapshots WHERE session = $1 AND event_id < $2",
  // Record 0 is the title.
  "DELETE FROM @.texts WHERE session = $1 AND event_id < $2 AND event_id > 0",
] as const;

const DROP_COMMANDS = `DELETE FROM @.commands WHERE seq IN
  (SELECT seq FROM @.commands WHERE outcome IS NOT NULL AND settled_at < $1 LIMIT ${MAX_COMMANDS}) RETURNING seq`;

interface PrunableRun {
  readonly firstId: number;
  readonly lastId: number | null;
  readonly endedAt: number | null;
}

/** A position at the end of a run that no other run spans. */
interface RetentionCut {
  readonly lastId: number;
  /** When the last of its runs ended. */
  readonly endedAt: number;
  readonly runs: number;
}

/** Lists the positions to which a session can be pruned. `runs` are in the order they started. */
function listCuts(runs: readonly PrunableRun[]): readonly RetentionCut[] {
  const cuts: RetentionCut[] = [];
  for (const { firstId, lastId, endedAt } of runs) {
    const before = cuts.at(-1);
    // A run that overlaps the one before belongs to the same cut.
    const overlapped = before !== undefined && firstId <= before.lastId ? cuts.pop() : undefined;
    if (lastId === null) return cuts;
    cuts.push({
      lastId: Math.max(lastId, overlapped?.lastId ?? 0),
      endedAt: Math.max(endedAt ?? 0, overlapped?.endedAt ?? 0),
      runs: 1 + (overlapped?.runs ?? 0),
    });
  }
  // After the highest record ID, no ID is left with which the session could start.
  return cuts.filter(({ lastId }) => lastId < Number.MAX_SAFE_INTEGER);
}

interface PrunableSession {
  readonly key: number;
  readonly sessionId: string;
}

/** What is left of a session. */
interface PrunedSession {
  readonly runs: number;
  readonly records: number;
  readonly bytes: number;
  /** The next position to prune to. */
  readonly next: RetentionCut | undefined;
}

/** Whether a session is pruned to the position. `measureBytes` returns its size before that. */
type IsDue = (cut: RetentionCut, measureBytes: () => Promise<number>) => Promise<boolean>;

export async function pruneSessions(
  db: PostgresDatabase,
  clock: number | null,
  { maxAgeMs, maxSessionBytes, maxBytes, now = clock ?? undefined }: RetentionPolicy,
  onPruned: (sessionId: string) => void,
): Promise<PruneReport> {
  const [time] = await db.read<{ now: number }>(`SELECT ${NOW} AS now`, [now ?? null]);
  const at = time?.now ?? 0;
  const report = { runs: 0, records: 0, bytes: 0 };
  const damaged: string[] = [];
  const nextCuts = new Map<PrunableSession, RetentionCut>();
  const prune = async (session: PrunableSession, isDue: IsDue): Promise<void> => {
    nextCuts.delete(session);
    const { next, ...done } = await skipIfDamaged(session, damaged, () =>
      db.transact(async (transaction) => pruneSession(transaction, clock, session, isDue)),
    );
    report.runs += done.runs;
    report.records += done.records;
    report.bytes += done.bytes;
    if (next !== undefined) nextCuts.set(session, next);
    if (done.runs > 0) onPruned(fromColumn(session.sessionId));
  };
  const isDue: IsDue = async ({ endedAt }, measureBytes) =>
    (maxAgeMs !== undefined && endedAt < at - maxAgeMs) ||
    (maxSessionBytes !== undefined && (await measureBytes()) > maxSessionBytes);
  if (maxAgeMs !== undefined || maxSessionBytes !== undefined || maxBytes !== undefined)
    for await (const session of listSessions(db)) await prune(session, isDue);
  if (maxBytes !== undefined) {
    const enough = report.bytes + (await measure(db)) - maxBytes;
    while (report.bytes < enough) {
      const oldest = findOldest(nextCuts);
      if (oldest === undefined) break;
      let isFirst = true;
      await prune(oldest, async () => isFirst && !(isFirst = false));
    }
  }
  const before = at - (maxAgeMs ?? SETTLED_COMMANDS_MS);
  while ((await db.write(DROP_COMMANDS, [before])).length === MAX_COMMANDS);
  return damaged.length === 0 ? report : { ...report, damaged };
}

async function* listSessions(db: PostgresDatabase): AsyncGenerator<PrunableSession> {
  for (let after = 0; ;) {
    const page = await db.read<PrunableSession>(LIST, [after]);
    yield* page;
    const last = page.at(-1);
    if (last === undefined || page.length < MAX_SESSIONS) return;
    after = last.key;
  }
}

async function measure(db: PostgresDatabase): Promise<number> {
  const sql = "SELECT coalesce(sum(pos - base_pos), 0)::bigint AS bytes FROM @.sessions WHERE session_id IS NOT NULL";
  return (await db.read<{ bytes: number }>(sql))[0]?.bytes ?? 0;
}

async function pruneSession(
  transaction: Transaction,
  clock: number | null,
  { key, sessionId }: PrunableSession,
  isDue: IsDue,
): Promise<PrunedSession> {
  const head = await lockSession(transaction, clock, fromColumn(sessionId));
  // The session may have been deleted since.
  if (head?.key !== key) return { runs: 0, records: 0, bytes: 0, next: undefined };
  const cuts = listCuts(await transaction.query<PrunableRun>(RUNS, [key]));
  let count = 0;
  const findBase = async (): Promise<number> => {
    const last = cuts[count - 1];
    return last === undefined ? head.basePos : findPosition(transaction, key, last.lastId);
  };
  for (const cut of cuts) {
    if (!(await isDue(cut, async () => head.pos - (await findBase())))) break;
    count++;
  }
  const last = cuts[count - 1];
  const next = cuts[count];
  if (last === undefined) return { runs: 0, records: 0, bytes: 0, next };
  const basePos = await findBase();
  await cutSession(transaction, head, last.lastId + 1, basePos);
  return {
    runs: cuts.slice(0, count).reduce((sum, { runs }) => sum + runs, 0),
    records: last.lastId + 1 - head.firstId,
    bytes: basePos - head.basePos,
    next,
  };
}

async function cutSession(
  { query }: Transaction,
  { key }: StoredHead,
  firstId: number,
  basePos: number,
): Promise<void> {
  await query(CUT, [key, firstId, basePos]);
  for (const sql of DELETES) await query(sql, [key, firstId]);
}

/** Reports a damaged session and stops pruning it. */
async function skipIfDamaged(
  { sessionId }: PrunableSession,
  damaged: string[],
  prune: () => Promise<PrunedSession>,
): Promise<PrunedSession> {
  try {
    return await prune();
  } catch (error) {
    if (!isLoomError(error, "store_corrupt")) throw error;
    damaged.push(fromColumn(sessionId));
    return { runs: 0, records: 0, bytes: 0, next: undefined };
  }
}

/** Of runs that ended at the same time, those of the session that was created first. */
function findOldest(cuts: ReadonlyMap<PrunableSession, RetentionCut>): PrunableSession | undefined {
  const inOrder = [...cuts].sort(([a, first], [b, second]) => first.endedAt - second.endedAt || a.key - b.key);
  return inOrder[0]?.[0];
}
