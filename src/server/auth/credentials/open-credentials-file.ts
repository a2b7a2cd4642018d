/**
 * Creates, checks and migrates the SQLite file of credentials. Only its owner may read or write it. A file that is not
 * a credential store is rejected and left unchanged. An empty file is rejected too: it has lost its tokens, and
 * treating it as new would turn authentication off.
 */
import { randomUUID } from "node:crypto";
import { chmodSync, closeSync, lstatSync, openSync, rmSync, type Stats } from "node:fs";
import { dirname } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { LoomError } from "../../../protocol/index.ts";
import { asStoreError } from "../../../sqlite/as-store-error.ts";
import { assertIntact } from "../../../sqlite/database.ts";
import { makeFolder } from "../../../sqlite/make-folder.ts";
import { type DatabaseFormat, migrate, readVersion } from "../../../sqlite/migrate.ts";
import { placeFile } from "../../../sqlite/place-file.ts";

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

-- holder: id of the principal; principal: the principal as JSON if no other table has it (JWT).
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

const FORMAT: DatabaseFormat = {
  name: "credential store",
  // "LOOA" in ASCII.
  applicationId: 0x4c_4f_4f_41,
  migrations: [VERSION_1, "ALTER TABLE shares ADD COLUMN maker TEXT"],
};

/** Creates the file if it does not exist. Throws `store_…` with the path in the message. */
export function openCredentialsFile(path: string, busyTimeoutMs: number): DatabaseSync {
  try {
    if (path !== MEMORY) prepareFile(path, busyTimeoutMs);
    return openDatabase(path, busyTimeoutMs);
  } catch (error) {
    const { code, message, details } = asStoreError(error, path);
    throw new LoomError(code, `Cannot open the credentials file ${path}. ${message}`, details, { cause: error });
  }
}

function prepareFile(path: string, busyTimeoutMs: number): void {
  const found = lstatSync(path, { throwIfNoEntry: false });
  if (found === undefined) createFile(path, busyTimeoutMs);
  const stats = found ?? lstatSync(path);
  if (stats.isSymbolicLink()) throw new LoomError("store_failed", "The file is a symbolic link.", { path });
  if (!stats.isFile()) throw new LoomError("store_failed", "It is not a regular file.", { path });
  if (stats.size === 0)
    throw new LoomError(
      "store_corrupt",
      "The file is empty and its tokens are lost; restore a backup, or delete the file and create new tokens.",
      { path },
    );
  for (const file of [`${path}-wal`, `${path}-shm`])
    if (lstatSync(file, { throwIfNoEntry: false })?.isSymbolicLink() === true)
      throw new LoomError("store_failed", `The file ${file} next to it is a symbolic link.`, { path });
  restrictToOwner(path, stats);
}

/** A copy or an unusual umask may have made the file readable for others. */
function restrictToOwner(path: string, { mode }: Stats): void {
  if (process.platform === "win32" || (mode & 0o077) === 0) return;
  try {
    chmodSync(path, 0o600);
  } catch {
    throw new LoomError(
      "store_failed",
      "Other users of this machine can access the file, and its permissions cannot be changed; run `chmod 600` on it.",
      {
        path,
      },
    );
  }
}

/** Creates the file under a temporary name and then moves it, so other processes never see an incomplete file. */
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
    // Check the version before writing: the file may belong to another program.
    readVersion(db, FORMAT);
    db.exec("PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL; PRAGMA secure_delete = ON");
    db.exec("PRAGMA journal_size_limit = 8388608; PRAGMA cache_size = -4096; PRAGMA temp_store = MEMORY");
    migrate(db, FORMAT);
    assertIntact(db, FORMAT.name);
    return db;
  } catch (error) {
    db.close();
    throw error;
  }
}
