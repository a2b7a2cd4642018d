/** The tables of a store. */
import type { DatabaseFormat } from "../../sqlite/migrate.ts";
import { sealOf } from "../../sqlite/seal.ts";
import { ADD_CARRIED_CONTENT, addActors, moveLineages } from "./migrations.ts";

/**
 * - `crc` is a checksum of a text and its position, `seal` one of the other columns of a row: SQLite has no checksums, and
 *   damaged data must not be returned.
 * - `actor` is the principal of a live run or a pending message. It is only counted, and not part of the seal.
 * - `pos` is the size of the session in bytes up to and including the row.
 * - Times are milliseconds since 1970.
 */
const SCHEMA = `
-- A session without an ID is a draft, which is being copied, or it is deleted: then it is unswept until its rows are
-- deleted, like one that has rows before first_id. A fork has an origin. A session that is not one is its own root.
CREATE TABLE sessions (
  key INTEGER PRIMARY KEY AUTOINCREMENT,
  session_id TEXT UNIQUE,
  incarnation TEXT NOT NULL,
  owner TEXT NOT NULL,
  title TEXT,
  created_at REAL NOT NULL,
  updated_at REAL NOT NULL,
  first_id INTEGER NOT NULL,
  base_pos INTEGER NOT NULL,
  unswept INTEGER NOT NULL DEFAULT 0,
  epoch INTEGER NOT NULL,
  holder TEXT,
  expires_at REAL NOT NULL,
  is_pinned INTEGER NOT NULL,
  is_archived INTEGER NOT NULL,
  root_id TEXT,
  origin_id TEXT,
  origin_run_id TEXT,
  origin_event_id INTEGER,
  seal INTEGER NOT NULL,
  CHECK (session_id IS NULL OR root_id IS NOT NULL)
) STRICT;
CREATE INDEX sessions_by_owner ON sessions (owner) WHERE session_id IS NOT NULL;
CREATE INDEX sessions_by_root ON sessions (root_id, owner) WHERE session_id IS NOT NULL;
CREATE INDEX sessions_marked ON sessions (owner)
  WHERE session_id IS NOT NULL AND (is_pinned = 1 OR is_archived = 1);
CREATE INDEX sessions_drafts ON sessions (key) WHERE session_id IS NULL AND unswept = 0;
CREATE INDEX sessions_unswept ON sessions (key) WHERE unswept = 1;

-- The highest epoch of any deleted session, in one row.
CREATE TABLE deleted_epochs (epoch INTEGER NOT NULL, seal INTEGER NOT NULL) STRICT;
INSERT INTO deleted_epochs VALUES (0, ${sealOf([0])});

-- Appended records of all sessions in write order: those of one append, one per line, up to and including id. The table
-- is small, so a commit for many sessions writes few pages. When it has grown, its records are moved to chunks.
CREATE TABLE recent (
  pk INTEGER PRIMARY KEY,
  session INTEGER NOT NULL,
  id INTEGER NOT NULL,
  pos INTEGER NOT NULL,
  crc INTEGER NOT NULL,
  text TEXT NOT NULL,
  UNIQUE (session, id)
) STRICT;

-- Many records of one session per row, from which long sessions are read.
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

-- What prompts refer to in pruned records, see carried-content.ts.
CREATE TABLE carried (
  pk INTEGER PRIMARY KEY,
  session INTEGER NOT NULL,
  event_id INTEGER NOT NULL,
  crc INTEGER NOT NULL,
  text TEXT NOT NULL,
  UNIQUE (session, event_id)
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
  actor TEXT,
  PRIMARY KEY (session, run_id)
) STRICT, WITHOUT ROWID;
CREATE INDEX runs_by_first ON runs (session, first_id);
CREATE INDEX runs_by_last ON runs (session, last_id) WHERE last_id IS NOT NULL;
CREATE INDEX runs_by_end ON runs (ended_at) WHERE last_id IS NOT NULL;
CREATE INDEX runs_live ON runs (session, first_id) WHERE last_id IS NULL;
CREATE INDEX runs_of_actor ON runs (actor) WHERE last_id IS NULL AND actor IS NOT NULL;

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
  actor TEXT,
  UNIQUE (session, command_id)
) STRICT;
CREATE INDEX commands_by_id ON commands (command_id);
CREATE INDEX commands_pending ON commands (session, seq) WHERE outcome IS NULL;
CREATE INDEX commands_of_actor ON commands (actor) WHERE outcome IS NULL AND actor IS NOT NULL;
CREATE INDEX commands_settled ON commands (settled_at) WHERE outcome IS NOT NULL;

-- Snapshots of encoders. They are derived from the records and may be deleted at any time.
CREATE TABLE snapshots (
  session INTEGER NOT NULL,
  key TEXT NOT NULL,
  event_id INTEGER NOT NULL,
  state BLOB NOT NULL,
  crc INTEGER NOT NULL,
  UNIQUE (session, key, event_id)
) STRICT;

-- The full-text index of titles, messages and replies, see search-index.ts: the words of each text, the texts that the
-- index does not have yet, and the index. IDs are made of the key of the session and the ID of the record, 0 for a title.
CREATE TABLE texts (id INTEGER PRIMARY KEY, words TEXT NOT NULL) STRICT;
CREATE TABLE unindexed (id INTEGER PRIMARY KEY, owner TEXT NOT NULL) STRICT;
CREATE INDEX unindexed_by_owner ON unindexed (owner);
CREATE VIRTUAL TABLE terms USING fts5(list, content='', columnsize=0, tokenize='ascii');
-- Remove deleted texts from the index instead of only marking them as deleted.
INSERT INTO terms (terms, rank) VALUES ('secure-delete', 1);

-- What owners have stored, for quotas. A row is created when a process with quotas needs it, by counting, and is kept up
-- to date from then on; stores without quotas have none.
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

-- The journal of commits, see commit-journal.ts. Its rows are hints, so they have no checksums.
CREATE TABLE commits (
  seq INTEGER PRIMARY KEY,
  writer INTEGER NOT NULL,
  sessions TEXT NOT NULL
) STRICT;

-- Which call may prune, in one row.
CREATE TABLE pruning (holder TEXT NOT NULL, expires_at REAL NOT NULL) STRICT;
INSERT INTO pruning VALUES ('', 0);
`;

export const STORE_FORMAT: DatabaseFormat = {
  name: "store",
  // "LOOM" in ASCII.
  applicationId: 0x4c_4f_4f_4d,
  schema: SCHEMA,
  oldest: 15,
  migrations: [ADD_CARRIED_CONTENT, moveLineages, addActors],
};
