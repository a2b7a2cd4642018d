/**
 * The tables of a knowledge base and how its file is opened. The file has a version; a file of another version, older
 * or newer, is rejected. An old file must be recreated from its documents. Every change of the tables or of how terms
 * are read needs a new version.
 */
import { statSync } from "node:fs";
import { dirname } from "node:path";
import type { DatabaseSync } from "node:sqlite";
import { setTimeout as wait } from "node:timers/promises";
import { isLoomError } from "../../../protocol/index.ts";
import { asStoreError } from "../../../sqlite/as-store-error.ts";
import { assertIntact, type ConnectionOptions, openDatabase } from "../../../sqlite/database.ts";
import { makeFolder } from "../../../sqlite/make-folder.ts";
import { type DatabaseFormat, migrate, readVersion } from "../../../sqlite/migrate.ts";
import type { KnowledgeBaseLimits } from "../knowledge-base-options.ts";

/** Delay before opening again a file that another process is creating. */
const RETRY_MS = 25;
/** Files up to this size are checked for damage when opened. */
const MAX_CHECK_BYTES = 16 * 1024 * 1024;
const CONNECTION: ConnectionOptions = {
  // After that we wait asynchronously.
  busyTimeoutMs: 50,
  // Writes lost in a system crash are read again from the documents.
  synchronous: "NORMAL",
  secureDelete: "FAST",
  cacheBytes: 16 * 1024 * 1024,
  maxWalBytes: 64 * 1024 * 1024,
};

/**
 * Notes on the tables:
 *
 * - A document without `uri` is being written or deleted. It is not found by searches and not counted in `totals`.
 *   `indexed_at` is the time of the last write to it.
 * - `documents.root` is the folder whose import found the document; null if it was added by itself. `stamp` is the
 *   state of the file in the file system when it was read.
 * - `totals.generation` changes with every write and invalidates caches of index data.
 * - `terms` stores no text, only which of our terms occur where; the tokenizer `ascii` keeps them unchanged. `scope` is
 *   the key of the collection, so that a search in one collection reads no other.
 */
const SCHEMA = `
-- Values stored by the application.
CREATE TABLE notes (name TEXT PRIMARY KEY, text TEXT NOT NULL) STRICT;
CREATE TABLE collections (key INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE) STRICT;
CREATE TABLE documents (
  key INTEGER PRIMARY KEY AUTOINCREMENT,
  uri TEXT UNIQUE,
  collection INTEGER NOT NULL,
  title TEXT NOT NULL,
  format TEXT NOT NULL,
  bytes INTEGER NOT NULL,
  modified_at REAL NOT NULL,
  indexed_at REAL NOT NULL,
  hash TEXT NOT NULL,
  chunks INTEGER NOT NULL,
  root TEXT,
  stamp TEXT NOT NULL
) STRICT;
CREATE INDEX documents_by_collection ON documents (collection, uri);
CREATE TABLE chunks (
  key INTEGER PRIMARY KEY AUTOINCREMENT,
  document INTEGER NOT NULL,
  first_line INTEGER NOT NULL,
  last_line INTEGER NOT NULL,
  headings TEXT NOT NULL,
  content TEXT NOT NULL
) STRICT;
CREATE INDEX chunks_by_document ON chunks (document);
-- One row, so that statistics need no row counts.
CREATE TABLE totals (
  documents INTEGER NOT NULL, chunks INTEGER NOT NULL, bytes INTEGER NOT NULL, generation INTEGER NOT NULL DEFAULT 0
) STRICT;
INSERT INTO totals VALUES (0, 0, 0, 0);
CREATE VIRTUAL TABLE terms USING fts5(
  title, headings, body, scope, content = '', contentless_delete = 1, tokenize = 'ascii'
);
-- The weights of title, headings, body and scope.
INSERT INTO terms (terms, rank) VALUES ('rank', 'bm25(4.0, 3.0, 1.0, 0.0)');
CREATE VIRTUAL TABLE vocabulary USING fts5vocab(terms, 'row');
`;

const FORMAT: DatabaseFormat = {
  name: "knowledge base",
  // "LOKB" in ASCII.
  applicationId: 0x4c_4f_4b_42,
  schema: SCHEMA,
  oldest: 2,
  migrations: [],
  adviceOnOlder: "move the file away and add the documents again",
};

/** Opens the database, or creates it. Throws an error of the store. */
export async function openKnowledgeDatabase(file: string, limits: KnowledgeBaseLimits): Promise<DatabaseSync> {
  const until = Date.now() + limits.busyTimeoutMs;
  for (;;) {
    try {
      return openOnce(file);
    } catch (error) {
      const failure = asStoreError(error, file);
      // SQLite does not wait while another process creates the same file.
      if (!isLoomError(failure, "store_busy") || Date.now() >= until) throw failure;
      await wait(RETRY_MS);
    }
  }
}

/** Opens a read-only connection to an existing file. Throws an error of the store. */
export function openKnowledgeReader(file: string): DatabaseSync {
  return openDatabase(file, CONNECTION, (db) => db.exec("PRAGMA query_only = ON"));
}

function openOnce(file: string): DatabaseSync {
  const inMemory = file === ":memory:";
  if (!inMemory) makeFolder(dirname(file));
  return openDatabase(file, CONNECTION, (db) => {
    if (readVersion(db, FORMAT) === 0) db.exec("PRAGMA journal_mode = WAL");
    migrate(db, FORMAT);
    if (!inMemory && statSync(file).size <= MAX_CHECK_BYTES) assertIntact(db, FORMAT.name);
  });
}
