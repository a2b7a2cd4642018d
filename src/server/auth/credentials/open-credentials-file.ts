/**
 * Creates, checks and migrates the SQLite file of credentials. Only its owner may read or write it. A file that is not
 * a credential store is rejected and left unchanged. An empty file is rejected too: it has lost its tokens, and
 * treating it as new would turn authentication off.
 */
import { chmodSync, lstatSync } from "node:fs";
import type { DatabaseSync } from "node:sqlite";
import { LoomError } from "../../../protocol/index.ts";
import { asStoreError } from "../../../sqlite/as-store-error.ts";
import { assertIntact, type ConnectionOptions, openDatabase } from "../../../sqlite/database.ts";
import { ensureFile } from "../../../sqlite/ensure-file.ts";
import { type DatabaseFormat, migrate, migrateExisting } from "../../../sqlite/migrate.ts";

export const MEMORY = ":memory:";

const SCHEMA = `
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
  maker TEXT,
  created_at INTEGER NOT NULL,
  expires_at INTEGER,
  opened INTEGER NOT NULL DEFAULT 0,
  opened_at INTEGER
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

/** Version 2 to 3. */
const COUNT_OPENINGS = `
ALTER TABLE shares ADD COLUMN opened INTEGER NOT NULL DEFAULT 0;
ALTER TABLE shares ADD COLUMN opened_at INTEGER;
`;

const FORMAT: DatabaseFormat = {
  name: "credential store",
  // "LOOA" in ASCII.
  applicationId: 0x4c_4f_4f_41,
  schema: SCHEMA,
  oldest: 2,
  migrations: [COUNT_OPENINGS],
};

const CONNECTION: Omit<ConnectionOptions, "busyTimeoutMs"> = {
  synchronous: "NORMAL",
  secureDelete: "ON",
  cacheBytes: 4 * 1024 * 1024,
  maxWalBytes: 8 * 1024 * 1024,
};

/** Creates the file if it does not exist. Throws `store_…` with the path in the message. */
export function openCredentialsFile(path: string, busyTimeoutMs: number): DatabaseSync {
  const open = (file: string, isNew: boolean): DatabaseSync =>
    openDatabase(file, { ...CONNECTION, busyTimeoutMs }, (db) => {
      // Check the version before writing: the file may belong to another program.
      if (!isNew) migrateExisting(db, FORMAT);
      db.exec("PRAGMA journal_mode = WAL");
      if (isNew) migrate(db, FORMAT);
      assertIntact(db, FORMAT.name);
    });
  try {
    if (path === MEMORY) return open(path, true);
    assertNoLinks(path);
    ensureFile(path, { name: FORMAT.name, isPrivate: true, create: (draft) => open(draft, true).close() });
    // Another process may have created the file meanwhile.
    assertNoLinks(path);
    restrictToOwner(path);
    return open(path, false);
  } catch (error) {
    if (error instanceof LoomError) throw error;
    const { code, message, details } = asStoreError(error, path);
    throw new LoomError(code, `Cannot open the credentials file ${path}: ${message}`, details, { cause: error });
  }
}

/** SQLite and `chmod` follow links, which another user may have placed. */
function assertNoLinks(path: string): void {
  const stats = lstatSync(path, { throwIfNoEntry: false });
  if (stats?.isSymbolicLink() === true)
    throw new LoomError("store_failed", `The credentials file is a symbolic link: ${path}`, { path });
  if (stats?.isFile() === false)
    throw new LoomError("store_failed", `The credentials file is not a regular file: ${path}`, { path });
  for (const file of [`${path}-wal`, `${path}-shm`])
    if (lstatSync(file, { throwIfNoEntry: false })?.isSymbolicLink() === true)
      throw new LoomError("store_failed", `A file of the credential store is a symbolic link: ${file}`, { path });
}

/** A copy or an unusual umask may have made the file readable for others. */
function restrictToOwner(path: string): void {
  if (process.platform === "win32" || (lstatSync(path).mode & 0o077) === 0) return;
  try {
    chmodSync(path, 0o600);
  } catch {
    throw new LoomError(
      "store_failed",
      `Other users of this machine can access ${path}, and its permissions cannot be changed; run \`chmod 600\` on it`,
      { path },
    );
  }
}
