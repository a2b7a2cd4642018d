/**
 * The tables of a knowledge base, and how its file is opened. Like a store it says which version it has, and a version
 * this code does not know is refused, an older one too: the documents are still where they came from, and are read again.
 * How terms are read is a part of the version: a change of it is a new one, as is any change of the tables.
 */
import { statSync } from "node:fs";
import { dirname } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { setTimeout as wait } from "node:timers/promises";
import { asStoreError } from "../../log/sqlite/failure.ts";
import { makeFolder } from "../../log/sqlite/make-folder.ts";
import { readPragma } from "../../log/sqlite/schema.ts";
import { isLoomError, LoomError } from "../../protocol/index.ts";
import type { KnowledgeBaseLimits } from "./knowledge-base-options.ts";

/** "LOKB", so that neither a store nor another program's database is taken for a base. */
const APPLICATION_ID = 0x4c_4f_4b_42;
const VERSION = 2;
/** How often a file is tried that another process is just making. */
const RETRY_MS = 25;
/** How long SQLite itself waits for another process, and nothing else goes on; after it we wait and let others go on. */
const BLOCKED_MS = 50;

/**
 * - A document without `uri` is not in the base: it is still being written, or it is being deleted. Nothing of it is found
 *   and `totals` does not count it. `indexed_at` says when it was last worked on.
 * - `documents.root` is the folder whose import found the document; null for what was added by itself. `stamp` is what
 *   the file system said of the file when it was read.
 * - `totals.generation` is another after every write, and tells when what is remembered of the index is out of date.
 * - `terms` holds no text, only what our own tokens occur where; `ascii` takes them as they are. `scope` has the key of
 *   the collection, so that a search in one of them reads no other.
 */
const TABLES = `
-- What whoever keeps the base has noted about it.
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
-- One row: nobody counts rows to know how many there are.
CREATE TABLE totals (
  documents INTEGER NOT NULL, chunks INTEGER NOT NULL, bytes INTEGER NOT NULL, generation INTEGER NOT NULL DEFAULT 0
) STRICT;
INSERT INTO totals VALUES (0, 0, 0, 0);
CREATE VIRTUAL TABLE terms USING fts5(
  title, headings, body, scope, content = '', contentless_delete = 1, tokenize = 'ascii'
);
-- The weights of title, headings and body; the scope has none.
INSERT INTO terms (terms, rank) VALUES ('rank', 'bm25(4.0, 3.0, 1.0, 0.0)');
CREATE VIRTUAL TABLE vocabulary USING fts5vocab(terms, 'row');
`;

/** Throws one of the codes of the store. */
export async function openBase(file: string, limits: KnowledgeBaseLimits): Promise<DatabaseSync> {
  const until = Date.now() + limits.busyTimeoutMs;
  for (;;) {
    try {
      return openOnce(file, limits);
    } catch (error) {
      const told = asStoreError(error, file);
      // Where two processes make one file, SQLite does not wait for the other.
      if (!isLoomError(told, "store_busy") || Date.now() >= until) throw told;
      await wait(RETRY_MS);
    }
  }
}

function openOnce(file: string, { maxCheckBytes }: KnowledgeBaseLimits): DatabaseSync {
  const inMemory = file === ":memory:";
  if (!inMemory) makeFolder(dirname(file));
  const db = new DatabaseSync(file, { timeout: BLOCKED_MS });
  try {
    assertOurs(db, file);
    if (readPragma(db, "user_version") === 0) db.exec("PRAGMA journal_mode = WAL");
    // What a crash of the machine may take is read again from the documents.
    db.exec("PRAGMA synchronous = NORMAL; PRAGMA cache_size = -16384; PRAGMA temp_store = MEMORY");
    db.exec("PRAGMA journal_size_limit = 67108864; PRAGMA secure_delete = FAST");
    if (readPragma(db, "user_version") === 0) makeTables(db, file);
    if (!inMemory && statSync(file).size <= maxCheckBytes) assertSound(db, file);
    return db;
  } catch (error) {
    db.close();
    throw error;
  }
}

function assertOurs(db: DatabaseSync, file: string): void {
  const isEmpty = db.prepare("SELECT 1 FROM sqlite_schema LIMIT 1").get() === undefined;
  if (isEmpty) return;
  if (readPragma(db, "application_id") !== APPLICATION_ID)
    throw new LoomError("store_corrupt", `the file is no knowledge base: ${file}`, { path: file });
  const version = readPragma(db, "user_version");
  if (version > VERSION)
    throw new LoomError(
      "store_newer",
      `the knowledge base has version ${version}, this program knows versions up to ${VERSION}: use a newer one`,
      { version, known: VERSION },
    );
  if (version < VERSION)
    throw new LoomError(
      "store_older",
      `the knowledge base has version ${version}, this program needs version ${VERSION}: move the file away, and add the documents again`,
      { version, known: VERSION },
    );
}

function makeTables(db: DatabaseSync, file: string): void {
  db.exec("BEGIN IMMEDIATE");
  try {
    // Another process may have been quicker.
    assertOurs(db, file);
    if (readPragma(db, "user_version") === 0) {
      db.exec(TABLES);
      db.exec(`PRAGMA application_id = ${APPLICATION_ID}; PRAGMA user_version = ${VERSION}`);
    }
    db.exec("COMMIT");
  } catch (error) {
    if (db.isTransaction) db.exec("ROLLBACK");
    throw error;
  }
}

function assertSound(db: DatabaseSync, file: string): void {
  const found = db.prepare("PRAGMA quick_check(1)").get()?.["quick_check"];
  if (found !== "ok")
    throw new LoomError("store_corrupt", `the knowledge base is damaged: ${String(found)}`, { path: file });
}
