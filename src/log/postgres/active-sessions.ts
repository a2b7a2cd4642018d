/** Lists the sessions that have a live run or a queued message. Begins with the indexes of open work. */
import type { PostgresDatabase } from "../../postgres/postgres-database.ts";
import { toColumn } from "../../postgres/text-column.ts";
import { type ActiveSession, type ListActiveSessionsOptions, MAX_QUEUED_MESSAGES } from "../log.ts";
import { clampListLimit } from "../rules.ts";
import { type CommandRow, describeCommand, type RunRow } from "../stored-rows.ts";
import { COMMAND, readCommand } from "./command-rows.ts";
import { LANDMARK, readLandmark, readRun, RUN, type StoredLandmark } from "./index-rows.ts";
import { findListKey } from "./search-sessions.ts";
import { describeHead, HEAD, type StoredHead } from "./session-rows.ts";

const APPROVALS = `FROM @.landmarks l JOIN @.runs r ON r.session = l.session AND r.run_id = l.run_id AND r.last_id IS NULL
  WHERE l.kind = 'tool_approval'`;

const SESSIONS = `SELECT ${HEAD} FROM (SELECT session FROM @.runs WHERE last_id IS NULL
    UNION SELECT session FROM @.commands WHERE outcome IS NULL AND kind = 'enqueue') a
  JOIN @.sessions s ON s.key = a.session
  WHERE s.session_id IS NOT NULL AND s.key < $1 AND ($3::text IS NULL OR s.owner = $3)
    AND (NOT $4::boolean OR EXISTS (SELECT 1 ${APPROVALS} AND l.session = s.key))
  ORDER BY s.key DESC LIMIT $2`;

const RUNS = `SELECT r.session, ${RUN} FROM @.runs r WHERE r.session = ANY($1::bigint[]) AND r.last_id IS NULL
  ORDER BY r.first_id`;

const WAITING = `SELECT l.session, ${LANDMARK} ${APPROVALS} AND l.session = ANY($1::bigint[]) ORDER BY l.event_id`;

const QUEUED = `SELECT c.session, ${COMMAND} FROM @.commands c WHERE c.session = ANY($1::bigint[]) AND c.outcome IS NULL
  AND c.kind = 'enqueue' ORDER BY c.seq`;

type OfSession<T> = T & { readonly session: number };

/** See `Log.listActiveSessions`. */
export async function listActiveSessions(
  db: PostgresDatabase,
  { limit, after, owner, isWaiting = false }: ListActiveSessionsOptions,
): Promise<readonly ActiveSession[]> {
  return db.transact(
    async ({ query }) => {
      const before = await findListKey({ query }, after, owner);
      const values = [before, clampListLimit(limit), owner === undefined ? null : toColumn(owner), isWaiting];
      const heads = await query<StoredHead>(SESSIONS, values);
      if (heads.length === 0) return [];
      const keys = heads.map(({ key }) => key);
      const runs = groupBySession(await query<OfSession<RunRow>>(RUNS, [keys]));
      const waiting = groupBySession(await query<OfSession<StoredLandmark>>(WAITING, [keys]));
      const queued = groupBySession(await query<OfSession<CommandRow>>(QUEUED, [keys]));
      return heads.map((head) => {
        const info = describeHead(head, db);
        const commands = (queued.get(head.key) ?? []).slice(0, MAX_QUEUED_MESSAGES);
        return {
          ...info,
          liveRuns: (runs.get(head.key) ?? []).map(readRun),
          approvals: (waiting.get(head.key) ?? []).slice(0, clampListLimit()).map(readLandmark),
          queued: commands.map((row) => describeCommand(info.sessionId, readCommand(row))),
        };
      });
    },
    { isReadOnly: true },
  );
}

function groupBySession<T>(rows: readonly OfSession<T>[]): ReadonlyMap<number, readonly T[]> {
  return Map.groupBy(rows, ({ session }) => session);
}
