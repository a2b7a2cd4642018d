/**
 * Credential store in one SQLite file that all processes of a machine share. Only its owner may read or write the file.
 * A file that is not a credential store is rejected and left unchanged. An empty file is rejected too: it has lost its
 * tokens, and treating it as new would turn authentication off.
 *
 * Invariant: a file that another process has locked delays the operation, never the event loop.
 */
import { chmodSync, lstatSync } from "node:fs";
import type { DatabaseSync, StatementSync } from "node:sqlite";
import { isLoomError, LoomError } from "../../../protocol/index.ts";
import { asStoreError } from "../../../sqlite/as-store-error.ts";
import { assertIntact, type ConnectionOptions, openDatabase, transact } from "../../../sqlite/database.ts";
import { ensureFile } from "../../../sqlite/ensure-file.ts";
import { identifyFile } from "../../../sqlite/file-identity.ts";
import { LockQueue } from "./lock-queue.ts";
import { type DatabaseFormat, migrate, migrateExisting } from "../../../sqlite/migrate.ts";
import type { Credentials, CredentialsOptions } from "./credentials.ts";
import type { CredentialsDriver, Steps, Value } from "./credential-rows.ts";
import { StoredCredentials } from "./stored-credentials.ts";

const MEMORY = ":memory:";
/** How often to check that the path still points to the opened file. */
const FILE_CHECK_MS = 1000;

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

/**
 * Opens the credential store: tokens, cookies, tickets and share links. Creates the file if it does not exist; `path`
 * can be `:memory:`. Throws `store_…` if the file cannot be opened or is not a credential store.
 *
 * ```ts
 * const credentials = openCredentials("/var/lib/loom/credentials.db");
 * const { secret } = await credentials.createToken({ name: "laptop", scopes: ["read", "run"] });
 * await startLoomServer({ auth: { credentials } });
 * ```
 */
export function openCredentials(path: string, options: CredentialsOptions = {}): Credentials {
  return new StoredCredentials(new SqliteDriver(path, options.busyTimeoutMs), options);
}

class SqliteDriver implements CredentialsDriver {
  readonly toColumn = (text: string): string => text;
  readonly fromColumn = (text: string): string => text;
  readonly #db: DatabaseSync;
  readonly #path: string;
  readonly #file: string | undefined;
  readonly #statements = new Map<string, StatementSync>();
  readonly #locks: LockQueue;
  #checkedAt = 0;

  constructor(path: string, busyTimeoutMs = 2000) {
    this.#path = path;
    this.#locks = new LockQueue(busyTimeoutMs);
    this.#db = openFile(path, busyTimeoutMs);
    this.#file = path === MEMORY ? undefined : (identifyFile(path) ?? "");
    // SQLite would wait with the thread blocked.
    this.#db.exec("PRAGMA busy_timeout = 0");
  }

  /** Reads at once. Writers do not lock readers out, except for moments such as the recovery of the file. */
  async read<T>(steps: () => Steps<T>): Promise<T> {
    const run = (): T => this.#guard(() => this.#run(steps()));
    try {
      return run();
    } catch (error) {
      if (!isLoomError(error, "store_busy")) throw error;
      return this.#locks.run(run);
    }
  }

  async readChecked<T>(steps: (version: unknown) => Steps<T>): Promise<T> {
    return this.read(() => {
      this.#assertSameFile();
      // Changes when another process has written to the file.
      return steps(this.#prepare("PRAGMA data_version").get()?.["data_version"]);
    });
  }

  async write(sql: string, values: readonly Value[], waits: boolean): Promise<readonly unknown[]> {
    const run = (): readonly unknown[] =>
      this.#guard(() => {
        this.#assertSameFile();
        return this.#prepare(sql).all(...values);
      });
    return waits ? this.#locks.run(run) : run();
  }

  /** Writes with full synchronization, so a change of access survives a power failure. */
  async transact<T>(steps: (attempt: number) => Steps<T>): Promise<T> {
    const commit = (): T => {
      this.#assertSameFile();
      this.#db.exec("PRAGMA synchronous = FULL");
      try {
        return transact(this.#db, () => this.#run(steps(0)));
      } finally {
        this.#db.exec("PRAGMA synchronous = NORMAL");
      }
    };
    return this.#locks.run(() => this.#guard(commit));
  }

  /** Overwrites pages of the file whose new versions are only in the write-ahead log. */
  async overwriteErased(): Promise<void> {
    await this.read(function* () {
      yield { sql: "PRAGMA wal_checkpoint(PASSIVE)", values: [] };
    });
  }

  async close(): Promise<void> {
    await this.#locks.idle;
    if (this.#db.isOpen) this.#db.close();
  }

  #run<T>(steps: Steps<T>): T {
    let step = steps.next();
    while (step.done !== true) step = steps.next(this.#prepare(step.value.sql).all(...step.value.values));
    return step.value;
  }

  #prepare(sql: string): StatementSync {
    let statement = this.#statements.get(sql);
    if (statement === undefined) {
      statement = this.#db.prepare(sql.replaceAll("@.", "").replaceAll("$", "?"));
      this.#statements.set(sql, statement);
    }
    return statement;
  }

  /** If the file was replaced, revocations in the new file would go unnoticed. */
  #assertSameFile(): void {
    if (this.#file === undefined) return;
    const now = performance.now();
    if (now - this.#checkedAt < FILE_CHECK_MS && this.#checkedAt !== 0) return;
    if (identifyFile(this.#path) !== this.#file)
      throw new LoomError("store_failed", "The credentials file was removed or replaced; restart the server");
    this.#checkedAt = now;
  }

  /** Converts SQLite errors to `LoomError`s without the path, which users must not see. */
  #guard<T>(work: () => T): T {
    try {
      return work();
    } catch (error) {
      if (error instanceof LoomError) throw error;
      const { code, message } = asStoreError(error, this.#path);
      throw new LoomError(code, `Credential store: ${message}`, {}, { cause: error });
    }
  }
}

/** Creates the file if it does not exist. Throws `store_…` with the path in the message. */
function openFile(path: string, busyTimeoutMs: number): DatabaseSync {
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
