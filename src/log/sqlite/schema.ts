/** The tables of a store, and the migrations from older versions. A released migration is never edited. */
import type { DatabaseSync } from "node:sqlite";
import type { DatabaseFormat } from "../../sqlite/migrate.ts";
import { sealOf } from "../../sqlite/seal.ts";
import { readConversationText } from "../conversation-text.ts";
import { listTerms } from "../search-terms.ts";
import { listWords } from "../search-text.ts";

/**
 * - `recent` takes appended records of all sessions in write order, one row per append or record. It is small, so a
 *   commit for many sessions writes few pages. When it has grown, its records are moved to `chunks`, many records of
 *   one session per row, from which long sessions are read.
 * - `pos` is the size of the session in bytes up to and including the row. `crc` is a checksum of the text and its
 *   position, `seal` one of the other columns: SQLite has no checksums, and damaged data must not be returned.
 * - A deleted session loses its ID at once; its rows are deleted later, like those before `first_id`.
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
 * A row of `recent` may contain several records of one append, one per line; `id` is that of the last. The tables do
 * not change, but older programs would treat such a row as damaged.
 */
const VERSION_2 = "-- Nothing to change.";

/**
 * Deletes rows that an older version wrote again after they were swept: those of deleted sessions at once, those before
 * a session's first ID with the next sweep.
 */
const VERSION_3 = `
DELETE FROM chunks WHERE session NOT IN (SELECT key FROM sessions);
DELETE FROM extents WHERE session NOT IN (SELECT key FROM sessions);
UPDATE sessions SET unswept = 1
  WHERE EXISTS (SELECT 1 FROM chunks WHERE session = sessions.key AND last_id < sessions.first_id);
`;

/**
 * Adds the full-text index of titles, messages and replies, and fills it. The row ID is the session's key and the
 * record's ID, 0 for a title. Messages and replies are the first and last records of runs.
 */
const VERSION_4 = `
CREATE VIRTUAL TABLE said USING fts5(words, columnsize=0, tokenize='ascii');
-- Remove deleted texts from the index instead of only marking them as deleted.
INSERT INTO said (said, rank) VALUES ('secure-delete', 1);
INSERT INTO said (rowid, words)
  SELECT key << 26, loom_words(title) FROM sessions WHERE session_id IS NOT NULL AND loom_words(title) <> '';
-- A damaged store may have a record twice; it can still be opened.
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
 * Adds the owner of a session; existing sessions belong to `local`. Existing seals stay valid: `local` is not part of
 * the sealed values, and any other owner is one more value. A row whose owner changes on disk therefore fails its seal,
 * also from or to `local`, and a damaged row stays damaged. The index lists an owner's sessions by key, without deleted
 * ones.
 */
const VERSION_5 = `
ALTER TABLE sessions ADD COLUMN owner TEXT NOT NULL DEFAULT 'local';
CREATE INDEX sessions_by_owner ON sessions (owner) WHERE session_id IS NOT NULL;
`;

/** Names the table after its content: the highest epoch of any deleted session. */
const VERSION_6 = "ALTER TABLE buried RENAME TO deleted_epochs";

/**
 * Replaces the full-text index by one with a part per owner, see `search-index.ts`. `texts` has the words of each text,
 * with the row ID of version 4; `terms` has only the index. The index is derived from `said`, not from the records.
 */
const VERSION_7 = `
CREATE TABLE texts (id INTEGER PRIMARY KEY, words TEXT NOT NULL) STRICT;
INSERT INTO texts SELECT said.rowid, words FROM said JOIN sessions ON key = said.rowid >> 26;
DROP TABLE said;
CREATE VIRTUAL TABLE terms USING fts5(list, content='', columnsize=0, tokenize='ascii');
INSERT INTO terms (terms, rank) VALUES ('secure-delete', 1);
INSERT INTO terms (rowid, list)
  SELECT id, loom_terms(key, owner, words) FROM texts JOIN sessions ON key = id >> 26;
`;

/** Adds the journal of commits; see `commit-journal.ts`. Its rows are hints, so they have no checksums. */
const VERSION_8 = `
CREATE TABLE commits (
  seq INTEGER PRIMARY KEY,
  writer INTEGER NOT NULL,
  sessions TEXT NOT NULL
) STRICT;
`;

/**
 * Adds snapshots of encoders, see `EncoderSnapshot`. They are derived from the records and may be deleted at any time.
 */
const VERSION_9 = `
CREATE TABLE snapshots (
  session INTEGER NOT NULL,
  key TEXT NOT NULL,
  event_id INTEGER NOT NULL,
  state BLOB NOT NULL,
  crc INTEGER NOT NULL,
  UNIQUE (session, key, event_id)
) STRICT;
`;

/** Lists drafts: sessions that are being copied and have no ID yet. A deleted session is unswept. */
const VERSION_10 = "CREATE INDEX sessions_drafts ON sessions (key) WHERE session_id IS NULL AND unswept = 0";

/**
 * What owners have stored, for quotas. A row is created when a process with quotas needs it, by counting, and is kept up
 * to date from then on; stores without quotas have none. `blob_usage` has the blobs of each session.
 */
const VERSION_11 = `
CREATE TABLE owner_usage (
  owner TEXT PRIMARY KEY,
  sessions INTEGER NOT NULL,
  bytes INTEGER NOT NULL,
  blobs INTEGER NOT NULL,
  blob_bytes INTEGER NOT NULL,
  seal INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE blob_usage (
  session INTEGER PRIMARY KEY,
  blobs INTEGER NOT NULL,
  bytes INTEGER NOT NULL
) STRICT;
`;

/** Lists texts that the full-text index does not have yet, see `search-index.ts`. */
const VERSION_12 = `
CREATE TABLE unindexed (id INTEGER PRIMARY KEY, owner TEXT NOT NULL) STRICT;
CREATE INDEX unindexed_by_owner ON unindexed (owner);
`;

/** Adds the origin and the root of forks, see `lineage-rows.ts`. Existing sessions have none. */
const VERSION_13 = `
CREATE TABLE lineages (
  session INTEGER PRIMARY KEY,
  owner TEXT NOT NULL,
  root_id TEXT NOT NULL,
  parent_id TEXT,
  run_id TEXT,
  event_id INTEGER,
  seal INTEGER NOT NULL
) STRICT;
CREATE INDEX lineages_by_root ON lineages (root_id, owner);
`;

/** Finds the sessions of a command by its ID alone. */
const VERSION_14 = "CREATE INDEX commands_by_id ON commands (command_id)";

/**
 * Adds whether a session is pinned and archived. Existing seals stay valid: a session with neither has the same sealed
 * values as before.
 */
const VERSION_15 = `
ALTER TABLE sessions ADD COLUMN is_pinned INTEGER NOT NULL DEFAULT 0;
ALTER TABLE sessions ADD COLUMN is_archived INTEGER NOT NULL DEFAULT 0;
CREATE INDEX sessions_marked ON sessions (owner)
  WHERE session_id IS NOT NULL AND (is_pinned = 1 OR is_archived = 1);
`;

/**
 * - Finds the runs that ended first.
 * - `carried` has what prompts refer to in pruned records, see `carried-content.ts`.
 * - `pruning` says which call may prune, in one row.
 */
const VERSION_16 = `
CREATE INDEX runs_by_end ON runs (ended_at) WHERE last_id IS NOT NULL;
CREATE TABLE carried (
  pk INTEGER PRIMARY KEY,
  session INTEGER NOT NULL,
  event_id INTEGER NOT NULL,
  crc INTEGER NOT NULL,
  text TEXT NOT NULL,
  UNIQUE (session, event_id)
) STRICT;
CREATE TABLE pruning (holder TEXT NOT NULL, expires_at REAL NOT NULL) STRICT;
INSERT INTO pruning VALUES ('', 0);
`;

/** SQL functions used by migrations. Damaged texts are not indexed; reading them reports the damage. */
function addFunctions(db: DatabaseSync): void {
  db.function("loom_words", { deterministic: true }, (text) => (typeof text === "string" ? listWords(text) : ""));
  db.function("loom_terms", { deterministic: true }, (key, owner, words) =>
    listTerms({ key: Number(key), owner: String(owner) }, String(words)),
  );
  db.function("loom_said", { deterministic: true }, (text) => {
    const found: [number, string][] = [];
    for (const line of typeof text === "string" ? text.split("\n") : []) {
      const entry = readConversationText(line);
      const words = entry === undefined ? "" : listWords(entry.text);
      if (entry !== undefined && words !== "") found.push([entry.eventId, words]);
    }
    return JSON.stringify(found);
  });
}

/** The format of a store. */
export const STORE_FORMAT: DatabaseFormat = {
  name: "store",
  // "LOOM" in ASCII.
  applicationId: 0x4c_4f_4f_4d,
  migrations: [
    VERSION_1,
    VERSION_2,
    VERSION_3,
    VERSION_4,
    VERSION_5,
    VERSION_6,
    VERSION_7,
    VERSION_8,
    VERSION_9,
    VERSION_10,
    VERSION_11,
    VERSION_12,
    VERSION_13,
    VERSION_14,
    VERSION_15,
    VERSION_16,
  ],
  addFunctions,
};
