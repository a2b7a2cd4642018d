/**
 * Reads a store, on a connection of its own that never writes. Every answer is of one moment, and a page of records is
 * proven against its checksum before anybody sees it.
 */
import type { DatabaseSync } from "node:sqlite";
import { LoomError } from "../../protocol/index.ts";
import { assertOwner, assertPosition, boundList, boundPage, unknownPlace, unknownSession } from "../rules.ts";
import { isHolderGone } from "../holder.ts";
import type {
  CommandState,
  FoundSession,
  Landmark,
  LandmarkKind,
  ListOptions,
  ListSessionsOptions,
  LogLimits,
  ReadOptions,
  RunInfo,
  SearchMatch,
  SearchOptions,
  SessionInfo,
} from "../log.ts";
import { Page } from "../page.ts";
import { matchSaid } from "../said.ts";
import { findSnippet, type Phrase, readQuery } from "../search-text.ts";
import { assertFile, type ConnectionOptions, openReader, prepareAll, type Statements } from "./connection.ts";
import { asStoreError } from "./failure.ts";
import { LandmarkRows } from "./landmark-rows.ts";
import { Records } from "./records.ts";
import { CommandRows, describeCommand, RunRows } from "./run-rows.ts";
import { readPragma } from "./schema.ts";
import { SaidRows } from "./said-rows.ts";
import { type SessionRow, SessionRows } from "./session-rows.ts";

const STATEMENTS = {
  begin: "BEGIN",
  end: "COMMIT",
  unsettled: `SELECT session_id AS sessionId FROM sessions WHERE session_id IS NOT NULL AND key > ? AND key IN
    (SELECT session FROM runs WHERE last_id IS NULL UNION SELECT session FROM commands WHERE outcome IS NULL)
    ORDER BY key`,
  mark: `SELECT key || ':' || first_id || ':' || epoch || ':' ||
    coalesce((SELECT max(id) FROM recent WHERE session = key),
      (SELECT last_id FROM extents WHERE session = key), 0) || ':' ||
    (SELECT count(*) || ':' || coalesce(max(seq), 0) FROM commands WHERE session = key AND outcome IS NULL) AS mark
    FROM sessions WHERE session_id = ?`,
} as const;

const FAR = Number.MAX_SAFE_INTEGER;
/** Beyond the key of any session, and still a key. */
const MAX_KEY = 2 ** 31;
/** Places nobody wants, before the index is asked anew; twice as many each time. */
const MAX_PASSED = 500;

interface Open {
  readonly db: DatabaseSync;
  readonly sql: Statements<typeof STATEMENTS>;
  readonly records: Records;
  readonly sessions: SessionRows;
  readonly runs: RunRows;
  readonly landmarks: LandmarkRows;
  readonly commands: CommandRows;
  readonly said: SaidRows;
}

export class Reader {
  readonly #path: string;
  readonly #file: string;
  readonly #options: ConnectionOptions;
  readonly #limits: LogLimits;
  readonly #now: () => number;
  #open: Open | undefined;

  /** `file` is which file the store was when it was opened, see `assertFile`. */
  constructor(path: string, file: string, options: ConnectionOptions, limits: LogLimits, now: () => number) {
    this.#path = path;
    this.#file = file;
    this.#options = options;
    this.#limits = limits;
    this.#now = now;
  }

  /** All that `ask` reads is of one moment. */
  #read<T>(ask: (open: Open) => T): T {
    try {
      const open = this.#connect();
      open.sql.begin.run();
      try {
        return ask(open);
      } finally {
        if (open.db.isTransaction) open.sql.end.run();
      }
    } catch (error) {
      // A refusal is an answer; anything else may come from a connection that is no good any more.
      if (!(error instanceof LoomError)) this.close();
      throw asStoreError(error, this.#path);
    }
  }

  #connect(): Open {
    assertFile(this.#path, this.#file);
    if (this.#open !== undefined) return this.#open;
    const db = openReader(this.#path, this.#options);
    this.#open = {
      db,
      sql: prepareAll(db, STATEMENTS),
      records: new Records(db),
      sessions: new SessionRows(db),
      runs: new RunRows(db),
      landmarks: new LandmarkRows(db),
      commands: new CommandRows(db),
      said: new SaidRows(db),
    };
    return this.#open;
  }

  close(): void {
    const { db } = this.#open ?? {};
    this.#open = undefined;
    try {
      db?.close();
    } catch {
      // It is gone either way.
    }
  }

  /** Changes when another connection has written. */
  readVersion(): number {
    return this.#read(({ db }) => readPragma(db, "data_version"));
  }

  /** Changes when something a watcher of the session may want to know has happened. */
  readMark(sessionId: string): string | undefined {
    return this.#read(({ sql }) => sql.mark.get(sessionId)?.["mark"] as string | undefined);
  }

  findSession(sessionId: string): SessionInfo | undefined {
    return this.#read(({ sessions, records }) => {
      const row = sessions.find(sessionId);
      return row === undefined ? undefined : this.#describe(records, row);
    });
  }

  listSessions({ limit, after, owner }: ListSessionsOptions): readonly SessionInfo[] {
    assertOwner(owner);
    return this.#read(({ sessions, records }) => {
      const before = after === undefined ? FAR : findPlace(sessions, after, owner);
      return sessions.list(before, boundList(limit), owner).map((row) => this.#describe(records, row));
    });
  }

  searchSessions({ query, limit, after, owner }: SearchOptions): readonly FoundSession[] {
    assertOwner(owner);
    return this.#read((open) => {
      const before = after === undefined ? MAX_KEY : findPlace(open.sessions, after, owner);
      const found: FoundSession[] = [];
      for (const { row, match } of findAll(open, readQuery(query), before, owner)) {
        found.push({ ...this.#describe(open.records, row), match });
        if (found.length >= boundList(limit)) break;
      }
      return found;
    });
  }

  listOrphans({ limit, after }: ListOptions): readonly string[] {
    return this.#read(({ sql, sessions }) => {
      const orphans: string[] = [];
      const from = after === undefined ? 0 : sessions.find(after)?.key;
      if (from === undefined) throw unknownPlace(after ?? "");
      for (const { sessionId } of sql.unsettled.iterate(from) as Iterable<{ sessionId?: string }>) {
        const row = sessions.find(sessionId ?? "");
        if (row?.sessionId == null || !this.#isFree(row)) continue;
        orphans.push(row.sessionId);
        if (orphans.length >= boundList(limit)) break;
      }
      return orphans;
    });
  }

  readPage(sessionId: string, { after, limit, maxBytes }: ReadOptions): Page {
    const { maxPageRecords, maxPageBytes } = this.#limits;
    const most = boundPage(limit, maxPageRecords);
    const room = boundPage(maxBytes, maxPageBytes);
    return this.#read(({ sessions, records }) => {
      const session = getSession(sessions, sessionId);
      const lastId = records.findLast(session).id;
      assertPosition(sessionId, after, session.firstId, lastId);
      if (after === lastId) return new Page(sessionId, after, after, "", session.incarnation);
      const { text, count } = records.read(session.key, after, most, room);
      return new Page(sessionId, after, after + count, text, session.incarnation);
    });
  }

  findRun(sessionId: string, runId: string): RunInfo | undefined {
    return this.#read(({ sessions, runs }) => runs.find(getSession(sessions, sessionId).key, runId));
  }

  listRuns(sessionId: string, { limit, after }: ListOptions): readonly RunInfo[] {
    return this.#read(({ sessions, runs }) => {
      const { key } = getSession(sessions, sessionId);
      const before = after === undefined ? FAR : runs.find(key, after)?.firstId;
      if (before === undefined) throw unknownPlace(after ?? "");
      return runs.list(key, before, boundList(limit));
    });
  }

  findFoldStart(sessionId: string, id: number): number {
    return this.#read(({ sessions, runs }) => {
      const { key, firstId } = getSession(sessions, sessionId);
      const going = runs.findGoing(key, id)?.firstId ?? FAR;
      const ended = runs.findEndedBefore(key, Math.min(going, id + 1))?.lastId ?? 0;
      return Math.max(firstId, ended + 1);
    });
  }

  findLandmark(sessionId: string, kind: LandmarkKind, key: string): Landmark | undefined {
    return this.#read(({ sessions, landmarks }) => landmarks.find(getSession(sessions, sessionId).key, kind, key));
  }

  listLandmarks(sessionId: string, kind: LandmarkKind, limit: number, before = FAR): readonly Landmark[] {
    return this.#read(({ sessions, landmarks }) =>
      landmarks.list(getSession(sessions, sessionId).key, kind, before, limit),
    );
  }

  findCommand(sessionId: string, commandId: string): CommandState | undefined {
    return this.#read(({ sessions, commands }) => {
      const row = commands.find(getSession(sessions, sessionId).key, commandId);
      return row === undefined ? undefined : describeCommand(sessionId, row);
    });
  }

  listPending(sessionId: string, limit: number): readonly CommandState[] {
    return this.#read(({ sessions, commands }) =>
      commands.listPending(getSession(sessions, sessionId).key, limit).map((row) => describeCommand(sessionId, row)),
    );
  }

  #describe(records: Records, row: SessionRow): SessionInfo {
    const { sessionId, incarnation, title, createdAt, updatedAt, firstId, basePos, epoch, owner } = row;
    const last = records.findLast(row);
    return {
      sessionId: sessionId ?? "",
      incarnation,
      title: title ?? undefined,
      createdAt,
      updatedAt,
      firstId,
      lastId: last.id,
      bytes: last.pos - basePos,
      epoch,
      holder: this.#holderOf(row),
      owner,
    };
  }

  /** Nobody holds it, and nobody is still expected to. */
  #isFree({ holder, expiresAt }: SessionRow): boolean {
    return expiresAt <= this.#now() || (holder !== null && isHolderGone(holder));
  }

  #holderOf({ holder, expiresAt }: SessionRow): string | undefined {
    return holder === null || expiresAt <= this.#now() || isHolderGone(holder) ? undefined : holder;
  }
}

/** The key of the session that a list goes on after; it must be in that list. */
function findPlace(sessions: SessionRows, after: string, owner: string | undefined): number {
  const row = sessions.find(after);
  if (row === undefined || (owner !== undefined && owner !== row.owner)) throw unknownPlace(after);
  return row.key;
}

/**
 * Those made before this key that have what is asked for, newest first, and where they have it; each of them once. Where
 * an owner is named, it goes from one of theirs to the next, past all that others have in between.
 */
function* findAll(
  { sessions, records, said }: Open,
  phrases: readonly Phrase[],
  before: number,
  owner: string | undefined,
): Generator<{ readonly row: SessionRow; readonly match: SearchMatch }> {
  if (phrases.length === 0) return;
  let past = before;
  let passed = 0;
  let patience = MAX_PASSED;
  // Asking anew for every session would have the index find everything as often; passing over all that a long session
  // or another owner has more would have it find what nobody wants.
  for (; ; patience *= 2) {
    passed = 0;
    for (const { session, eventId } of said.find(phrases, past)) {
      if (session >= past && ++passed > patience) break;
      if (session >= past) continue;
      if (owner !== undefined) {
        const latest = sessions.findLatestOwned(owner, session + 1);
        if (latest === undefined) return;
        past = latest + 1;
        if (session >= past) continue;
      }
      const row = sessions.findByKey(session);
      // Deleted or cut, and not yet swept.
      if (row?.sessionId == null || (eventId !== 0 && eventId < row.firstId)) continue;
      // The index of owners has no seal, the row has.
      if (owner !== undefined && owner !== row.owner) continue;
      const match = findMatch(row, eventId, phrases, records);
      if (match === undefined) continue;
      past = session;
      yield { row, match };
    }
    if (passed <= patience) return;
  }
}

function findMatch(
  { key, title }: SessionRow,
  eventId: number,
  phrases: readonly Phrase[],
  records: Records,
): SearchMatch | undefined {
  const snippet = findSnippet(title ?? "", phrases);
  if (snippet !== undefined) return { where: "title", snippet };
  return eventId === 0 ? undefined : matchSaid(records.read(key, eventId - 1, 1, FAR).text, phrases);
}

function getSession(sessions: SessionRows, sessionId: string): SessionRow {
  const row = sessions.find(sessionId);
  if (row === undefined) throw unknownSession(sessionId);
  return row;
}
