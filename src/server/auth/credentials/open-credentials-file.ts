/**
 * The file of credentials: made, checked and brought up to date before anything is read from it. Nobody but its owner may
 * read or write it. What is not a file of credentials is refused and left as it is, and an empty file is known for what
 * it is: one that lost everything, which must not let in whoever comes.
 */
import { randomUUID } from "node:crypto";
import { chmodSync, closeSync, lstatSync, openSync, rmSync, type Stats } from "node:fs";
import { dirname } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { asStoreError } from "../../../log/sqlite/failure.ts";
import { makeFolder } from "../../../log/sqlite/make-folder.ts";
import { placeFile } from "../../../log/sqlite/place-file.ts";
import { readPragma } from "../../../log/sqlite/schema.ts";
import { LoomError } from "../../../protocol/index.ts";

/** "LOOA": neither another program's database nor a store of sessions. */
const APPLICATION_ID = 0x4c_4f_4f_41;
export const MEMORY = ":memory:";

const VERSION_1 = `
CREATE TABLE tokens (
  key INTEGER PRIMARY KEY,
  id TEXT NOT NULL UNIQUE,
  digest BLOB NOT NULL,
  name TEXT NOT NULL,
  owner TEXT NOT NULL,
  scopes TEXT NOT NULL,
  agents TEXT,
  tools TEXT,
  limits TEXT NOT NULL,
  created_at INTEGER NOT NULL,
  expires_at INTEGER,
  revoked_at INTEGER,
  used_at INTEGER
) STRICT;
CREATE UNIQUE INDEX tokens_by_name ON tokens (name) WHERE revoked_at IS NULL;

CREATE TABLE shares (
  key INTEGER PRIMARY KEY,
  id TEXT NOT NULL UNIQUE,
  digest BLOB NOT NULL,
  session TEXT NOT NULL,
  incarnation TEXT NOT NULL,
  owner TEXT NOT NULL,
  created_at INTEGER NOT NULL,
  expires_at INTEGER
) STRICT;
CREATE INDEX shares_by_session ON shares (session);
CREATE INDEX shares_by_owner ON shares (owner);
CREATE INDEX shares_by_end ON shares (expires_at) WHERE expires_at IS NOT NULL;

-- Whose a cookie or a ticket is: the id of a principal, and the principal itself where nothing else here knows it.
CREATE TABLE cookies (
  key INTEGER PRIMARY KEY,
  id TEXT NOT NULL UNIQUE,
  digest BLOB NOT NULL,
  holder TEXT NOT NULL,
  principal TEXT,
  expires_at INTEGER NOT NULL
) STRICT;
CREATE INDEX cookies_by_holder ON cookies (holder);
CREATE INDEX cookies_by_end ON cookies (expires_at);

CREATE TABLE tickets (
  key INTEGER PRIMARY KEY,
  id TEXT NOT NULL UNIQUE,
  digest BLOB NOT NULL,
  holder TEXT NOT NULL,
  principal TEXT,
  cookie TEXT,
  session TEXT,
  expires_at INTEGER NOT NULL
) STRICT;
CREATE INDEX tickets_by_holder ON tickets (holder);
CREATE INDEX tickets_by_end ON tickets (expires_at);

CREATE TABLE spent (
  day INTEGER NOT NULL,
  holder TEXT NOT NULL,
  tokens INTEGER NOT NULL,
  PRIMARY KEY (day, holder)
) STRICT, WITHOUT ROWID;
`;

/** What makes version n + 1 out of version n; never edited once released. */
const MIGRATIONS: readonly string[] = [VERSION_1, "ALTER TABLE shares ADD COLUMN maker TEXT"];

/** Makes the file where there is none. Throws `store_…`, and names the file. */
export function openCredentialsFile(path: string, busyTimeoutMs: number): DatabaseSync {
  try {
    if (path !== MEMORY) prepareFile(path, busyTimeoutMs);
    return openDatabase(path, busyTimeoutMs);
  } catch (error) {
    const { code, message, details } = asStoreError(error, path);
    const named = message.includes(path) ? message : `${message}: ${path}`;
    throw new LoomError(code, `credentials: ${named}`, details, { cause: error });
  }
}

function prepareFile(path: string, busyTimeoutMs: number): void {
  const found = lstatSync(path, { throwIfNoEntry: false });
  if (found === undefined) createFile(path, busyTimeoutMs);
  const stats = found ?? lstatSync(path);
  if (stats.isSymbolicLink()) throw new LoomError("store_failed", "the file is a symbolic link", { path });
  if (!stats.isFile()) throw new LoomError("store_failed", "it is no file", { path });
  if (stats.size === 0) throw new LoomError("store_corrupt", "the file is empty, and whom it let in is lost", { path });
  for (const file of [`${path}-wal`, `${path}-shm`])
    if (lstatSync(file, { throwIfNoEntry: false })?.isSymbolicLink() === true)
      throw new LoomError("store_failed", `the file beside it is a symbolic link: ${file}`, { path });
  closeToOthers(path, stats);
}

/** Somebody who copied it, or an odd umask, may have opened it. */
function closeToOthers(path: string, { mode }: Stats): void {
  if (process.platform === "win32" || (mode & 0o077) === 0) return;
  try {
    chmodSync(path, 0o600);
  } catch {
    throw new LoomError("store_failed", "others on this machine can open the file, and it is not ours to close", {
      path,
    });
  }
}

/** Made whole beside its place and then put there: whoever finds it finds all of it. */
function createFile(path: string, busyTimeoutMs: number): void {
  makeFolder(dirname(path), 0o700);
  const draft = `${path}.new-${randomUUID()}`;
  try {
    closeSync(openSync(draft, "wx", 0o600));
    openDatabase(draft, busyTimeoutMs).close();
    placeFile(draft, path);
  } finally {
    for (const suffix of ["", "-wal", "-shm"]) rmSync(draft + suffix, { force: true });
  }
}

function openDatabase(path: string, busyTimeoutMs: number): DatabaseSync {
  const db = new DatabaseSync(path, { timeout: busyTimeoutMs });
  try {
    // Before anything is written to what may be somebody else's.
    readVersion(db);
    db.exec("PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL; PRAGMA secure_delete = ON");
    db.exec("PRAGMA journal_size_limit = 8388608; PRAGMA cache_size = -4096; PRAGMA temp_store = MEMORY");
    migrate(db);
    const found = db.prepare("PRAGMA quick_check(1)").get()?.["quick_check"];
    if (found !== "ok") throw new LoomError("store_corrupt", `the file is damaged: ${String(found)}`);
    return db;
  } catch (error) {
    db.close();
    throw error;
  }
}

function migrate(db: DatabaseSync): void {
  if (readVersion(db) === MIGRATIONS.length) return;
  db.exec("BEGIN IMMEDIATE");
  try {
    // Another process may have been quicker.
    for (const migration of MIGRATIONS.slice(readVersion(db))) db.exec(migration);
    db.exec(`PRAGMA application_id = ${APPLICATION_ID}; PRAGMA user_version = ${MIGRATIONS.length}`);
    db.exec("COMMIT");
  } catch (error) {
    if (db.isTransaction) db.exec("ROLLBACK");
    throw error;
  }
}

/** 0 for an empty database. */
function readVersion(db: DatabaseSync): number {
  if (db.prepare("SELECT 1 FROM sqlite_schema LIMIT 1").get() === undefined) return 0;
  if (readPragma(db, "application_id") !== APPLICATION_ID)
    throw new LoomError("store_corrupt", "the file holds no credentials, but something else");
  const version = readPragma(db, "user_version");
  if (version < 1) throw new LoomError("store_corrupt", "the file does not say which version it has");
  if (version > MIGRATIONS.length)
    throw new LoomError(
      "store_newer",
      `the file has version ${version}, this program knows versions up to ${MIGRATIONS.length}: use a newer one`,
      { version, known: MIGRATIONS.length },
    );
  return version;
}
