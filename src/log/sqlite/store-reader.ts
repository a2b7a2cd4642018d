/**
 * Reads a store on its own read-only connection. Each read sees one snapshot, and records are checked against their
 * checksums.
 */
import type { DatabaseSync } from "node:sqlite";
import { LoomError } from "../../protocol/loom-error.ts";
import { asStoreError } from "../../sqlite/as-store-error.ts";
import { prepareAll, type Statements } from "../../sqlite/database.ts";
import { assertFile } from "../../sqlite/file-identity.ts";
import { assertWalPresent, createWalCheck } from "../../sqlite/write-ahead-log.ts";
import {
  MAX_SESSIONS_OF_COMMAND,
  assertPosition,
  clampListLimit,
  clampPageLimit,
  unknownListCursor,
  assertSession,
} from "../rules.ts";
import { holderOf, isUnheld } from "../holder.ts";
import type {
  ActiveSession,
  CommandState,
  EncoderSnapshot,
  FoundSession,
  Landmark,
  LandmarkKind,
  ListActiveSessionsOptions,
  ListBranchesOptions,
  PagingOptions,
  ListSessionsOptions,
  LogEntry,
  ReadOptions,
  RunInfo,
  SearchSessionsOptions,
  SessionInfo,
} from "../log.ts";
import type { TableReader } from "../log-tables.ts";
import { Page } from "../page.ts";
import { readQuery } from "../search-text.ts";
import { describeCommand, describeSession } from "../stored-rows.ts";
import { readCarriedTexts } from "../carried-content.ts";
import { CommitJournalReader, type ExternalChanges } from "./commit-journal.ts";
import { type OpenedStore, openReader } from "./connection.ts";
import { findMatches, MAX_KEY } from "./find-matches.ts";
import { prepareRetention, type RetentionReads } from "./retention-rows.ts";
import type { StoredSession, SessionRows } from "./session-rows.ts";
import { prepareRows, type StoreRows } from "./store-rows.ts";

const STATEMENTS = {
  begin: "BEGIN",
  pending: "SELECT count(*) AS count FROM commands WHERE outcome IS NULL",
  end: "COMMIT",
  version: "PRAGMA data_version",
  // Begins with the indexes of open work, so that idle sessions cost nothing.
  active: `SELECT key FROM (SELECT session FROM runs INDEXED BY runs_live WHERE last_id IS NULL
      UNION SELECT session FROM commands INDEXED BY commands_pending WHERE outcome IS NULL AND kind = 'enqueue')
    CROSS JOIN sessions ON key = session
    WHERE session_id IS NOT NULL AND key < ?1 AND (?2 IS NULL OR owner = ?2) ORDER BY key DESC`,
  unsettled: `SELECT session_id AS sessionId FROM sessions WHERE session_id IS NOT NULL AND key > ? AND key IN
    (SELECT session FROM runs WHERE last_id IS NULL UNION SELECT session FROM commands WHERE outcome IS NULL)
    ORDER BY key`,
} as const;

const MAX_ID = Number.MAX_SAFE_INTEGER;

interface StoredKey {
  readonly key: number;
}

interface ReaderConnection extends StoreRows, RetentionReads {
  readonly db: DatabaseSync;
  readonly sql: Statements<typeof STATEMENTS>;
  readonly journal: CommitJournalReader;
  readonly assertWal: () => void;
}

export class StoreReader implements TableReader {
  readonly #store: OpenedStore;
  readonly #now: () => number;
  #open: ReaderConnection | undefined;
  #connections = 0;

  constructor(store: OpenedStore, now: () => number) {
    this.#store = store;
    this.#now = now;
  }

  /** Runs `query` in one transaction, so that it sees one snapshot. */
  #read<T>(query: (open: ReaderConnection) => T): T {
    try {
      const open = this.#connect();
      open.sql.begin.run();
      try {
        return query(open);
      } finally {
        if (open.db.isTransaction) open.sql.end.run();
      }
    } catch (error) {
      // A LoomError is a result; after any other error the connection may be unusable.
      if (!(error instanceof LoomError)) this.close();
      throw asStoreError(error, this.#store.path);
    }
  }

  /** Runs `query` for a session. Throws `unknown_session`. */
  #readSession<T>(sessionId: string, query: (session: StoredSession, open: ReaderConnection) => T): T {
    return this.#read((open) => query(assertSession(open.sessions.find(sessionId), sessionId), open));
  }

  #connect(): ReaderConnection {
    const { path, file, options } = this.#store;
    assertFile(path, file);
    if (this.#open !== undefined) return this.#open;
    assertWalPresent(path, "store");
    const db = openReader(path, options);
    this.#open = {
      db,
      sql: prepareAll(db, STATEMENTS),
      ...prepareRows(db),
      journal: new CommitJournalReader(db),
      // Preparing a statement has opened the log.
      assertWal: createWalCheck(path),
      retention: prepareRetention(db),
    };
    this.#connections++;
    return this.#open;
  }

  close(): void {
    const { db } = this.#open ?? {};
    this.#open = undefined;
    try {
      db?.close();
    } catch {
      // The connection is no longer used.
    }
  }

  /** Throws `store_failed` if the file or its write-ahead log is no longer the one that was opened. */
  assertFiles(): void {
    this.#read(({ assertWal }) => assertWal());
  }

  /** Number of pending commands in all sessions. */
  countPending(): number {
    return this.#read(({ sql }) => Number(sql.pending.get()?.["count"]));
  }

  /** Changes when another connection has written. */
  readVersion(): number {
    try {
      return this.#versionOf(this.#connect());
    } catch (error) {
      this.close();
      throw asStoreError(error, this.#store.path);
    }
  }

  /** Reads the changes by other processes, and the version that includes them; see `CommitJournalReader`. */
  readExternalChanges(after: number | undefined, writer: number): ExternalChanges & { readonly version: number } {
    // In this order: the first query starts the snapshot.
    return this.#read((open) => ({ ...open.journal.read(after, writer), version: this.#versionOf(open) }));
  }

  /** The number of a new connection may be that of the last one, so connections are counted too. */
  #versionOf({ sql }: ReaderConnection): number {
    return this.#connections * 2 ** 32 + Number(sql.version.get()?.["data_version"]);
  }

  getSession(sessionId: string): SessionInfo | undefined {
    return this.#read((open) => {
      const row = open.sessions.find(sessionId);
      return row && this.#describe(open, row);
    });
  }

  listSessions(options: ListSessionsOptions = {}): readonly SessionInfo[] {
    const { after, owner } = options;
    return this.#read((open) => {
      const before = after === undefined ? MAX_ID : findListPosition(open.sessions, after, owner);
      return listSelected(open, before, options).map((row) => this.#describe(open, row));
    });
  }

  listActiveSessions(options: ListActiveSessionsOptions = {}): readonly ActiveSession[] {
    const { limit, after, owner, isWaiting = false } = options;
    return this.#read((open) => {
      const { sessions, runs, landmarks, commands } = open;
      const before = after === undefined ? MAX_ID : findListPosition(sessions, after, owner);
      const found: ActiveSession[] = [];
      for (const { key } of open.sql.active.iterate(
        before,
        owner ?? null,
      ) as Iterable<unknown> as Iterable<StoredKey>) {
        const row = sessions.findByKey(key);
        if (row?.sessionId == null) continue;
        const liveRuns = runs.listLive(key);
        const live = new Set<string | undefined>(liveRuns.map(({ runId }) => runId));
        const marks = landmarks.list(key, "tool_approval", MAX_ID, MAX_ID).filter(({ runId }) => live.has(runId));
        if (isWaiting && marks.length === 0) continue;
        const approvals = marks.toReversed().slice(0, clampListLimit());
        const queued = commands.listQueued(key).map((command) => describeCommand(row.sessionId ?? "", command));
        found.push({ ...this.#describe(open, row), liveRuns, approvals, queued });
        if (found.length >= clampListLimit(limit)) break;
      }
      return found;
    });
  }

  listBranches(sessionId: string, options: ListBranchesOptions = {}): readonly SessionInfo[] {
    const { limit, after, newestFirst = false } = options;
    return this.#readSession(sessionId, (session, open) => {
      const { sessions } = open;
      const rootId = session.rootId ?? "";
      let position = newestFirst ? MAX_ID : 0;
      if (after !== undefined) {
        const last = sessions.find(after);
        const isListed = last !== undefined && last.owner === session.owner && last.rootId === rootId;
        if (!isListed) throw unknownListCursor(after);
        position = last.key;
      }
      return sessions
        .listVersions(rootId, session.owner, position, clampListLimit(limit), newestFirst)
        .map((row) => this.#describe(open, row));
    });
  }

  searchSessions({ query, limit, after, owner }: SearchSessionsOptions): readonly FoundSession[] {
    return this.#read((open) => {
      const before = after === undefined ? MAX_KEY : findListPosition(open.sessions, after, owner);
      const found: FoundSession[] = [];
      for (const { row, match } of findMatches(open, readQuery(query), before, owner)) {
        found.push({ ...this.#describe(open, row), match });
        if (found.length >= clampListLimit(limit)) break;
      }
      return found;
    });
  }

  listOrphans({ limit, after }: PagingOptions = {}): readonly string[] {
    return this.#read(({ sql, sessions }) => {
      const orphans: string[] = [];
      const from = after === undefined ? 0 : sessions.find(after)?.key;
      if (from === undefined) throw unknownListCursor(after ?? "");
      for (const { sessionId } of sql.unsettled.iterate(from) as Iterable<{ sessionId?: string }>) {
        const row = sessions.find(sessionId ?? "");
        if (row?.sessionId == null || !isUnheld(row, this.#now())) continue;
        orphans.push(row.sessionId);
        if (orphans.length >= clampListLimit(limit)) break;
      }
      return orphans;
    });
  }

  read(sessionId: string, { after, limit, maxBytes }: ReadOptions): Page {
    const { maxPageRecords, maxPageBytes } = this.#store.limits;
    const most = clampPageLimit(limit, maxPageRecords);
    const room = clampPageLimit(maxBytes, maxPageBytes);
    return this.#readSession(sessionId, (session, { records }) => {
      const lastId = records.findLast(session).id;
      assertPosition(sessionId, after, session.firstId, lastId);
      if (after === lastId) return new Page(sessionId, after, after, "", session.incarnation);
      const { text, count } = records.read(session.key, after, most, room);
      return new Page(sessionId, after, after + count, text, session.incarnation);
    });
  }

  readCarried(sessionId: string): readonly LogEntry[] {
    return this.#readSession(sessionId, ({ key }, { carried }) =>
      readCarriedTexts(carried.list(key).map(({ text }) => text)),
    );
  }

  /** Reads what retention needs. */
  readRetention<T>(read: (open: RetentionReads) => T): T {
    return this.#read(read);
  }

  getRun(sessionId: string, runId: string): RunInfo | undefined {
    return this.#readSession(sessionId, ({ key }, { runs }) => runs.find(key, runId));
  }

  listRuns(sessionId: string, { limit, after }: PagingOptions = {}): readonly RunInfo[] {
    return this.#readSession(sessionId, ({ key }, { runs }) => {
      const before = after === undefined ? MAX_ID : runs.find(key, after)?.firstId;
      if (before === undefined) throw unknownListCursor(after ?? "");
      return runs.list(key, before, clampListLimit(limit));
    });
  }

  listLiveRuns(sessionId: string): readonly RunInfo[] {
    return this.#readSession(sessionId, ({ key }, { runs }) => runs.listLive(key));
  }

  findFoldStart(sessionId: string, id: number): number {
    return this.#readSession(sessionId, ({ key, firstId }, { runs }) => {
      const going = runs.findSpanning(key, id)?.firstId ?? MAX_ID;
      const ended = runs.findEndedBefore(key, Math.min(going, id + 1))?.lastId ?? 0;
      return Math.max(firstId, ended + 1);
    });
  }

  findSnapshot(sessionId: string, key: string, id: number): EncoderSnapshot | undefined {
    return this.#readSession(sessionId, (session, { snapshots }) => snapshots.find(session.key, key, id));
  }

  getLandmark(sessionId: string, kind: LandmarkKind, key: string): Landmark | undefined {
    return this.#readSession(sessionId, (session, { landmarks }) => landmarks.find(session.key, kind, key));
  }

  listLandmarks(sessionId: string, kind: LandmarkKind, limit?: number, before = MAX_ID): readonly Landmark[] {
    return this.#readSession(sessionId, ({ key }, { landmarks }) =>
      landmarks.list(key, kind, before, clampListLimit(limit)),
    );
  }

  getCommand(sessionId: string, commandId: string): CommandState | undefined {
    return this.#readSession(sessionId, ({ key }, { commands }) => {
      const row = commands.find(key, commandId);
      return row && describeCommand(sessionId, row);
    });
  }

  listSessionsOfCommand(commandId: string, owner?: string): readonly string[] {
    return this.#read(({ commands }) => commands.listSessions(commandId, owner, MAX_SESSIONS_OF_COMMAND));
  }

  listPending(sessionId: string, limit?: number): readonly CommandState[] {
    return this.#readSession(sessionId, ({ key }, { commands }) =>
      commands.listPending(key, clampListLimit(limit)).map((row) => describeCommand(sessionId, row)),
    );
  }

  #describe({ records }: ReaderConnection, row: StoredSession): SessionInfo {
    const { id: lastId, pos } = records.findLast(row);
    const marks = { isPinned: row.isPinned === 1, isArchived: row.isArchived === 1 };
    return describeSession(row, { ...marks, lastId, pos, holder: holderOf(row, this.#now()) });
  }
}

/** Returns the key of the session after which a list continues. Throws `cursor_invalid` if it is not in the list. */
function findListPosition(sessions: SessionRows, after: string, owner: string | undefined): number {
  const row = sessions.find(after);
  if (row === undefined || (owner !== undefined && owner !== row.owner)) throw unknownListCursor(after);
  return row.key;
}

/** Lists the sessions created before the one with the key `beforeKey` that the options select, newest first. */
function listSelected(
  { sessions }: ReaderConnection,
  beforeKey: number,
  { limit, owner, isNewestVersion = false, isPinned, isArchived }: ListSessionsOptions,
): readonly StoredSession[] {
  const most = clampListLimit(limit);
  const isMarked = isPinned === true || isArchived === true;
  const found: StoredSession[] = [];
  for (let before = beforeKey; ;) {
    const rows = sessions.list(before, most, owner, isMarked);
    for (const row of rows) {
      before = row.key;
      if (isPinned !== undefined && isPinned !== (row.isPinned === 1)) continue;
      if (isArchived !== undefined && isArchived !== (row.isArchived === 1)) continue;
      if (isNewestVersion && !sessions.isNewestVersion(row)) continue;
      if (found.push(row) === most) return found;
    }
    if (rows.length < most) return found;
  }
}
