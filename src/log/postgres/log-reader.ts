/** Reads a log in PostgreSQL. Each read is one statement, so it sees one state of the database. */
import type { PostgresDatabase, SqlValue } from "../../postgres/postgres-database.ts";
import type {
  ActiveSession,
  CommandState,
  EncoderSnapshot,
  Landmark,
  LandmarkKind,
  ListActiveSessionsOptions,
  ListBranchesOptions,
  ListSessionsOptions,
  LogEntry,
  PagingOptions,
  ReadOptions,
  RunInfo,
  SessionInfo,
} from "../log.ts";
import type { LogLimits } from "../log-limits.ts";
import type { TableReader } from "../log-tables.ts";
import { Page } from "../page.ts";
import {
  assertPosition,
  clampListLimit,
  clampPageLimit,
  MAX_SESSIONS_OF_COMMAND,
  unknownListCursor,
  assertSession,
  unknownSession,
} from "../rules.ts";
import { type CommandRow, describeCommand, type RunRow } from "../stored-rows.ts";
import { listActiveSessions } from "./active-sessions.ts";
import { COMMAND, readCommand } from "./command-rows.ts";
import { hashOf, LANDMARK, readLandmark, readRun, RUN, type StoredLandmark } from "./index-rows.ts";
import { listCarried, type RecordRow, ROWS_AFTER, takeTexts } from "./record-rows.ts";
import { describeHead, findSession, HEAD, type StoredHead } from "./session-rows.ts";
import { findListKey } from "./search-sessions.ts";
import { fromColumn, toColumn } from "../../postgres/text-column.ts";

const MAX_ID = Number.MAX_SAFE_INTEGER;

const LIST = `SELECT ${HEAD} FROM @.sessions s WHERE s.session_id IS NOT NULL AND s.key < $1`;
const NEWEST = "ORDER BY s.key DESC LIMIT $2";
const BRANCHES = `SELECT ${HEAD} FROM @.sessions s WHERE s.session_id IS NOT NULL AND s.root_id = $3 AND s.owner = $4`;

const ORPHANS = `SELECT s.session_id AS "sessionId" FROM @.sessions s
  WHERE s.session_id IS NOT NULL AND s.key > $1
    AND (s.expires_at + $3 <= @now OR regexp_replace(s.holder, '/[0-9]+$', '') = ANY($4::text[])) AND s.key IN
    (SELECT session FROM @.runs WHERE last_id IS NULL UNION SELECT session FROM @.commands WHERE outcome IS NULL)
  ORDER BY s.key LIMIT $2`;

const PAGE = `SELECT ${HEAD}, r."firstId" AS "rowFirstId", r."lastId" AS "rowLastId", r.text
  FROM @.sessions s LEFT JOIN LATERAL (${ROWS_AFTER}) r ON true WHERE s.session_id = $1 ORDER BY r."lastId"`;

/** Runs may end while another one is live. Those written by Loom do not overlap; imported ones may. */
const FOLD = `SELECT s.first_id AS "firstId", (SELECT max(r.last_id) FROM @.runs r WHERE r.session = s.key
    AND r.last_id < least($2::bigint + 1, (SELECT min(r.first_id) FROM @.runs r WHERE r.session = s.key
      AND r.first_id <= $2 AND (r.last_id IS NULL OR r.last_id > $2)))) AS ended
  FROM @.sessions s WHERE s.session_id = $1`;

const SESSIONS_OF_COMMAND = `SELECT s.session_id AS "sessionId" FROM @.commands c JOIN @.sessions s ON s.key = c.session
  WHERE c.command_id = $1 AND s.session_id IS NOT NULL AND ($2::text IS NULL OR s.owner = $2)
  ORDER BY c.seq DESC LIMIT ${MAX_SESSIONS_OF_COMMAND}`;

interface PageRow extends StoredHead {
  readonly rowFirstId: number | null;
  readonly rowLastId: number;
  readonly text: string;
}

const NEWEST_VERSION = `AND NOT EXISTS (SELECT 1 FROM @.sessions v WHERE v.session_id IS NOT NULL
  AND v.root_id = s.root_id AND v.owner = s.owner AND v.key > s.key)`;

/** Returns the conditions of a list; see `ListSessionsOptions`. */
function selectListed({ isNewestVersion = false, isPinned, isArchived }: ListSessionsOptions): string {
  const marks = [
    // For the index of marked sessions.
    isPinned === true || isArchived === true ? "AND (s.is_pinned OR s.is_archived)" : "",
    isPinned === undefined ? "" : `AND ${isPinned ? "" : "NOT"} s.is_pinned`,
    isArchived === undefined ? "" : `AND ${isArchived ? "" : "NOT"} s.is_archived`,
  ];
  return [...marks, isNewestVersion ? NEWEST_VERSION : ""].join(" ");
}

export class LogReader implements TableReader {
  readonly #db: PostgresDatabase;
  readonly #limits: LogLimits;

  constructor(db: PostgresDatabase, limits: LogLimits) {
    this.#db = db;
    this.#limits = limits;
  }

  async getSession(sessionId: string): Promise<SessionInfo | undefined> {
    const head = await findSession(this.#db.reader, sessionId);
    return head === undefined ? undefined : this.#describe(head);
  }

  async listSessions(options: ListSessionsOptions = {}): Promise<readonly SessionInfo[]> {
    const { limit, after, owner } = options;
    const { reader } = this.#db;
    const values = [await findListKey(reader, after, owner), clampListLimit(limit)];
    const list = `${LIST} ${selectListed(options)}`;
    const rows =
      owner === undefined
        ? await reader.query<StoredHead>(`${list} ${NEWEST}`, values)
        : await reader.query<StoredHead>(`${list} AND s.owner = $3 ${NEWEST}`, [...values, toColumn(owner)]);
    return rows.map((row) => this.#describe(row));
  }

  async listActiveSessions(options: ListActiveSessionsOptions = {}): Promise<readonly ActiveSession[]> {
    return listActiveSessions(this.#db, options);
  }

  async listBranches(sessionId: string, options: ListBranchesOptions = {}): Promise<readonly SessionInfo[]> {
    const { limit, after, newestFirst = false } = options;
    const { reader } = this.#db;
    const session = assertSession(await findSession(reader, sessionId), sessionId);
    let position = newestFirst ? MAX_ID : 0;
    if (after !== undefined) {
      const last = await findSession(reader, after);
      if (last === undefined || last.owner !== session.owner || last.rootId !== session.rootId)
        throw unknownListCursor(after);
      position = last.key;
    }
    const order = newestFirst ? `AND s.key < $1 ${NEWEST}` : "AND s.key > $1 ORDER BY s.key LIMIT $2";
    const values = [position, clampListLimit(limit), session.rootId, session.owner];
    return (await this.#db.read<StoredHead>(`${BRANCHES} ${order}`, values)).map((row) => this.#describe(row));
  }

  async listOrphans({ limit, after }: PagingOptions = {}): Promise<readonly string[]> {
    return this.#db.transact(
      async ({ query }) => {
        const from = after === undefined ? 0 : await findListKey({ query }, after, undefined);
        const { recoveryMs, endedProcesses } = this.#db;
        const values = [from, clampListLimit(limit), recoveryMs, [...endedProcesses]];
        const rows = await query<{ sessionId: string }>(ORPHANS, values);
        return rows.map(({ sessionId }) => fromColumn(sessionId));
      },
      { isReadOnly: true },
    );
  }

  async read(sessionId: string, { after, limit, maxBytes }: ReadOptions): Promise<Page> {
    const { maxPageRecords, maxPageBytes } = this.#limits;
    const most = clampPageLimit(limit, maxPageRecords);
    const room = clampPageLimit(maxBytes, maxPageBytes);
    const values = [toColumn(sessionId), clampId(after), most, room];
    const rows = await this.#db.read<PageRow>(PAGE, values);
    const { firstId, lastId, incarnation } = assertSession(rows[0], sessionId);
    assertPosition(sessionId, after, firstId, lastId);
    if (after === lastId) return new Page(sessionId, after, after, "", incarnation);
    const stored = rows.flatMap((row): readonly RecordRow[] =>
      row.rowFirstId === null ? [] : [{ firstId: row.rowFirstId, lastId: row.rowLastId, text: row.text }],
    );
    const texts = takeTexts(stored, after, most, room);
    return new Page(sessionId, after, after + texts.length, texts, incarnation);
  }

  async readCarried(sessionId: string): Promise<readonly LogEntry[]> {
    const { key } = assertSession(await findSession(this.#db.reader, sessionId), sessionId);
    return listCarried(this.#db.reader, key);
  }

  async getRun(sessionId: string, runId: string): Promise<RunInfo | undefined> {
    return (await this.#listRuns(sessionId, "AND r.run_id = $2", [toColumn(runId)]))[0];
  }

  async listLiveRuns(sessionId: string): Promise<readonly RunInfo[]> {
    return this.#listRuns(sessionId, "AND r.last_id IS NULL ORDER BY r.first_id", []);
  }

  async listRuns(sessionId: string, { limit, after }: PagingOptions = {}): Promise<readonly RunInfo[]> {
    const last = after === undefined ? undefined : await this.getRun(sessionId, after);
    if (after !== undefined && last === undefined) throw unknownListCursor(after);
    const values = [last?.firstId ?? MAX_ID, clampListLimit(limit)];
    return this.#listRuns(sessionId, "AND r.first_id < $2 ORDER BY r.first_id DESC LIMIT $3", values);
  }

  async #listRuns(sessionId: string, where: string, values: readonly SqlValue[]): Promise<readonly RunInfo[]> {
    const sql = `SELECT ${RUN} FROM @.runs r WHERE r.session = s.key`;
    const rows = await this.#listOf<RunRow>(sessionId, sql, where, values);
    return rows.map(readRun);
  }

  async findFoldStart(sessionId: string, id: number): Promise<number> {
    const values = [toColumn(sessionId), Math.min(clampId(id), MAX_ID - 1)];
    const rows = await this.#db.read<{ firstId: number; ended: number | null }>(FOLD, values);
    const row = assertSession(rows[0], sessionId);
    return Math.max(row.firstId, (row.ended ?? 0) + 1);
  }

  async findSnapshot(sessionId: string, key: string, id: number): Promise<EncoderSnapshot | undefined> {
    const sql = `SELECT p.event_id AS "eventId", p.state FROM @.snapshots p WHERE p.session = s.key`;
    const where = "AND p.key = $2 AND p.event_id <= $3 ORDER BY p.event_id DESC LIMIT 1";
    const [row] = await this.#listOf<Omit<EncoderSnapshot, "key">>(sessionId, sql, where, [toColumn(key), clampId(id)]);
    return row === undefined ? undefined : { key, eventId: row.eventId, state: row.state };
  }

  async getLandmark(sessionId: string, kind: LandmarkKind, key: string): Promise<Landmark | undefined> {
    return (await this.#listLandmarks(sessionId, "AND l.kind = $2 AND l.hash = $3", [kind, hashOf(key)]))[0];
  }

  async listLandmarks(
    sessionId: string,
    kind: LandmarkKind,
    limit?: number,
    before = MAX_ID,
  ): Promise<readonly Landmark[]> {
    const where = "AND l.kind = $2 AND l.event_id < $3 ORDER BY l.event_id DESC LIMIT $4";
    return this.#listLandmarks(sessionId, where, [kind, clampId(before), clampListLimit(limit)]);
  }

  async #listLandmarks(sessionId: string, where: string, values: readonly SqlValue[]): Promise<readonly Landmark[]> {
    const sql = `SELECT ${LANDMARK} FROM @.landmarks l WHERE l.session = s.key`;
    return (await this.#listOf<StoredLandmark>(sessionId, sql, where, values)).map(readLandmark);
  }

  async getCommand(sessionId: string, commandId: string): Promise<CommandState | undefined> {
    return (await this.#listCommands(sessionId, "AND c.command_id = $2", [toColumn(commandId)]))[0];
  }

  async listPending(sessionId: string, limit?: number): Promise<readonly CommandState[]> {
    return this.#listCommands(sessionId, "AND c.outcome IS NULL ORDER BY c.seq LIMIT $2", [clampListLimit(limit)]);
  }

  async #listCommands(sessionId: string, where: string, values: readonly SqlValue[]): Promise<readonly CommandState[]> {
    const sql = `SELECT ${COMMAND} FROM @.commands c WHERE c.session = s.key`;
    const rows = await this.#listOf<CommandRow>(sessionId, sql, where, values);
    return rows.map((row) => describeCommand(sessionId, readCommand(row)));
  }

  async listSessionsOfCommand(commandId: string, owner?: string): Promise<readonly string[]> {
    const values = [toColumn(commandId), owner === undefined ? null : toColumn(owner)];
    const rows = await this.#db.read<{ sessionId: string }>(SESSIONS_OF_COMMAND, values);
    return rows.map(({ sessionId }) => fromColumn(sessionId));
  }

  /** Returns rows that belong to the session `s`. Throws `unknown_session`. */
  async #listOf<T>(
    sessionId: string,
    select: string,
    where: string,
    values: readonly SqlValue[],
  ): Promise<readonly T[]> {
    const sql = `SELECT x.* FROM @.sessions s LEFT JOIN LATERAL (SELECT true AS "isFound", y.* FROM (${select} ${where}) y) x
      ON true WHERE s.session_id = $1`;
    const rows = await this.#db.read<T & { isFound: true | null }>(sql, [toColumn(sessionId), ...values]);
    if (rows.length === 0) throw unknownSession(sessionId);
    return rows.filter(({ isFound }) => isFound === true);
  }

  #describe(head: StoredHead): SessionInfo {
    return describeHead(head, this.#db);
  }
}

/** Converts a position to one that the database accepts. */
function clampId(id: number): number {
  return Number.isNaN(id) ? 0 : Math.max(0, Math.min(Math.floor(id), MAX_ID));
}
