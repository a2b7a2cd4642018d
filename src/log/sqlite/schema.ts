/**
 * The tables of a store, and how an older store becomes a newer one. A store says which version it has; a version this
 * code does not know is refused, never guessed at. Migrations are never edited once released: a change is a new one.
 */
import type { DatabaseSync } from "node:sqlite";
import { LoomError } from "../../protocol/loom-error.ts";
import { readSaid } from "../said.ts";
import { listWords } from "../search-text.ts";
import { sealOf } from "./seal.ts";

/** "LOOM", so that another program's database is not taken for a store. */
export const APPLICATION_ID = 0x4c_4f_4f_4d;

/**
 * - `recent` takes what is appended, a row per append or record, in the order of writing, whatever the session. It is small, so a
 *   commit of many sessions writes few pages. When it has grown, its records are moved to `chunks`, many of one session
 *   to a row: that is what long sessions are read from.
 * - `pos` counts the bytes of the session up to and with the row. `crc` is a checksum of the text and its place, `seal`
 *   one of the other values: SQLite has none of its own, and what changed on disk must not be served.
 * - A session that is deleted loses its name at once, and its rows by and by; likewise what lies before `first_id`.
 */
const VERSION_1 = `
CREATE TABLE sessions (
  key INTEGER PRIMARY KEY AUTOINCREMENT,
  session_id TEXT UNIQUE,
  incarnation TEXT NOT NULL,
  title TEXT,
  created_at REAL NOT NULL,
  updated_at REAL NOT NULL,
  first_id INTEGER NOT NULL,
  base_pos INTEGER NOT NULL,
  unswept INTEGER NOT NULL DEFAULT 0,
  epoch INTEGER NOT NULL,
  holder TEXT,
  expires_at REAL NOT NULL,
  seal INTEGER NOT NULL
) STRICT;
CREATE INDEX sessions_unswept ON sessions (key) WHERE unswept = 1;

-- The highest epoch of any session that was deleted: one row.
CREATE TABLE buried (epoch INTEGER NOT NULL, seal INTEGER NOT NULL) STRICT;
INSERT INTO buried VALUES (0, ${sealOf([0])});

CREATE TABLE recent (
  pk INTEGER PRIMARY KEY,
  session INTEGER NOT NULL,
  id INTEGER NOT NULL,
  pos INTEGER NOT NULL,
  crc INTEGER NOT NULL,
  text TEXT NOT NULL,
  UNIQUE (session, id)
) STRICT;

CREATE TABLE chunks (
  pk INTEGER PRIMARY KEY,
  session INTEGER NOT NULL,
  first_id INTEGER NOT NULL,
  last_id INTEGER NOT NULL,
  pos INTEGER NOT NULL,
  crc INTEGER NOT NULL,
  text TEXT NOT NULL,
  UNIQUE (session, last_id)
) STRICT;

-- How far the chunks of a session reach.
CREATE TABLE extents (
  session INTEGER PRIMARY KEY,
  last_id INTEGER NOT NULL,
  pos INTEGER NOT NULL,
  seal INTEGER NOT NULL
) STRICT;

CREATE TABLE runs (
  session INTEGER NOT NULL,
  run_id TEXT NOT NULL,
  first_id INTEGER NOT NULL,
  last_id INTEGER,
  status TEXT NOT NULL,
  started_at REAL NOT NULL,
  ended_at REAL,
  code TEXT,
  request_id TEXT,
  agent TEXT,
  seal INTEGER NOT NULL,
  PRIMARY KEY (session, run_id)
) STRICT, WITHOUT ROWID;
CREATE INDEX runs_by_first ON runs (session, first_id);
CREATE INDEX runs_by_last ON runs (session, last_id) WHERE last_id IS NOT NULL;
CREATE INDEX runs_live ON runs (session, first_id) WHERE last_id IS NULL;

CREATE TABLE landmarks (
  session INTEGER NOT NULL,
  kind TEXT NOT NULL,
  key TEXT NOT NULL,
  event_id INTEGER NOT NULL,
  run_id TEXT,
  seal INTEGER NOT NULL,
  PRIMARY KEY (session, kind, key)
) STRICT, WITHOUT ROWID;
CREATE INDEX landmarks_by_id ON landmarks (session, kind, event_id);

CREATE TABLE commands (
  seq INTEGER PRIMARY KEY AUTOINCREMENT,
  session INTEGER NOT NULL,
  command_id TEXT NOT NULL,
  kind TEXT NOT NULL,
  body TEXT NOT NULL,
  created_at REAL NOT NULL,
  outcome TEXT,
  settled_at REAL,
  seal INTEGER NOT NULL,
  UNIQUE (session, command_id)
) STRICT;
CREATE INDEX commands_pending ON commands (session, seq) WHERE outcome IS NULL;
CREATE INDEX commands_settled ON commands (settled_at) WHERE outcome IS NOT NULL;
`;

/**
 * A row of `recent` may hold several records of one append, a line each; `id` is that of the last. The tables are the
 * same, but a program that does not know would take such a row for a damaged one.
 */
const VERSION_2 = "-- Nothing to change.";

/**
 * Records that were swept could come back, from the memory of whoever had written them: those of sessions that are gone
 * go at once, those before a session's first id with the next sweep.
 */
const VERSION_3 = `
DELETE FROM chunks WHERE session NOT IN (SELECT key FROM sessions);
DELETE FROM extents WHERE session NOT IN (SELECT key FROM sessions);
UPDATE sessions SET unswept = 1
  WHERE EXISTS (SELECT 1 FROM chunks WHERE session = sessions.key AND last_id < sessions.first_id);
`;

/**
 * The words of titles, messages and replies, to be searched; a row's number is the session's key and the record's id, 0
 * for a title. What is there already is put in: messages and replies lie where runs begin and end.
 */
const VERSION_4 = `
CREATE VIRTUAL TABLE said USING fts5(words, columnsize=0, tokenize='ascii');
-- What is deleted is gone, and not only marked.
INSERT INTO said (said, rank) VALUES ('secure-delete', 1);
INSERT INTO said (rowid, words)
  SELECT key << 26, loom_words(title) FROM sessions WHERE session_id IS NOT NULL AND loom_words(title) <> '';
-- A damaged store may have a record twice; it is opened all the same.
INSERT OR REPLACE INTO said (rowid, words)
  SELECT (rows.session << 26) | (one.value ->> 0), one.value ->> 1 FROM
    (SELECT session, text FROM recent
      UNION ALL SELECT session, text FROM chunks WHERE EXISTS (SELECT 1 FROM runs WHERE runs.session = chunks.session
        AND (runs.first_id BETWEEN chunks.first_id AND chunks.last_id
          OR runs.last_id BETWEEN chunks.first_id AND chunks.last_id))) AS rows
    JOIN sessions ON sessions.key = rows.session AND sessions.session_id IS NOT NULL
    JOIN json_each(loom_said(rows.text)) AS one
    WHERE (one.value ->> 0) BETWEEN sessions.first_id AND 0x3ffffff;
`;

/**
 * Whose a session is: all there were before are of this machine. Seals cover the owner without any row being sealed anew:
 * `local` adds nothing to what is sealed and any other owner one value more, so a row that goes from one owner to another
 * on disk, to or from `local` too, does not fit its seal. A damaged row stays one that way. The index has the keys of an
 * owner's sessions in their order, and loses those that are deleted.
 */
const VERSION_5 = `
ALTER TABLE sessions ADD COLUMN owner TEXT NOT NULL DEFAULT 'local';
CREATE INDEX sessions_by_owner ON sessions (owner) WHERE session_id IS NOT NULL;
`;

/** What makes version n + 1 out of version n. */
export const MIGRATIONS: readonly string[] = [VERSION_1, VERSION_2, VERSION_3, VERSION_4, VERSION_5];

/** Brings a store up to date, in one transaction; throws `store_newer` or `store_corrupt` and changes nothing. */
export function migrate(db: DatabaseSync, migrations: readonly string[] = MIGRATIONS): void {
  if (readVersion(db) === migrations.length) return;
  addFunctions(db);
  db.exec("BEGIN IMMEDIATE");
  try {
    // Another process may have been quicker.
    const version = readVersion(db);
    if (version > migrations.length)
      throw new LoomError(
        "store_newer",
        `the store has version ${version}, this program knows versions up to ${migrations.length}: use a newer one`,
        { version, known: migrations.length },
      );
    if (version < 0) throw new LoomError("store_corrupt", "the store does not say which version it has");
    for (const migration of migrations.slice(version)) db.exec(migration);
    db.exec(`PRAGMA application_id = ${APPLICATION_ID}; PRAGMA user_version = ${migrations.length}`);
    db.exec("COMMIT");
  } catch (error) {
    // A disk that is full has ended it already.
    if (db.isTransaction) db.exec("ROLLBACK");
    throw error;
  }
}

/** What a migration asks and SQL cannot say. What is damaged is not searched; whoever reads it is told. */
function addFunctions(db: DatabaseSync): void {
  db.function("loom_words", { deterministic: true }, (text) => (typeof text === "string" ? listWords(text) : ""));
  db.function("loom_said", { deterministic: true }, (text) => {
    const found: [number, string][] = [];
    for (const line of typeof text === "string" ? text.split("\n") : []) {
      const said = readSaid(line);
      const words = said === undefined ? "" : listWords(said.text);
      if (said !== undefined && words !== "") found.push([said.eventId, words]);
    }
    return JSON.stringify(found);
  });
}

/** 0 for an empty database. */
export function readVersion(db: DatabaseSync): number {
  const version = readPragma(db, "user_version");
  const application = readPragma(db, "application_id");
  const isEmpty = db.prepare("SELECT 1 FROM sqlite_schema LIMIT 1").get() === undefined;
  if (application !== APPLICATION_ID && !isEmpty)
    throw new LoomError("store_corrupt", "the file is a database of another program");
  return isEmpty ? 0 : version;
}

export function readPragma(db: DatabaseSync, name: string): number {
  return Number(Object.values(db.prepare(`PRAGMA ${name}`).get() ?? {})[0]);
}
