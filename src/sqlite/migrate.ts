/**
 * Versions of SQLite files. An older file is migrated in one transaction. A newer file, one that is too old and a
 * database of another program are rejected and left unchanged.
 */
import type { DatabaseSync } from "node:sqlite";
import { LoomError } from "../protocol/loom-error.ts";
import { readPragma, transact } from "./database.ts";

/** A change of the tables: SQL, or a function where SQL is not enough. */
export type Migration = string | ((db: DatabaseSync) => void);

/** What a file contains, and how its tables are created and migrated. */
export interface DatabaseFormat {
  /** What the file is, for messages: `knowledge base`. */
  readonly name: string;
  /** `application_id` of the file, so that a database of another program is not mistaken for one of this format. */
  readonly applicationId: number;
  /** Creates the tables of the newest version. Change it together with each new migration. */
  readonly schema: string;
  /** The oldest version that can be migrated. */
  readonly oldest: number;
  /** Entry n migrates version `oldest + n` to the next one. A migration is never edited; every change is a new one. */
  readonly migrations: readonly Migration[];
  /** What to do with a file that is older. Default: to open it with the last commit that can migrate it. */
  readonly adviceOnOlder?: string;
}

const ADVICE = "open it once with commit 8bf344a2 of Loom, which migrates it";

/** Migrates a database to the newest version. Throws like `readVersion`, without changes. */
export function migrate(db: DatabaseSync, format: DatabaseFormat): void {
  const { applicationId, schema, oldest, migrations } = format;
  const newest = newestVersion(format);
  if (readVersion(db, format) === newest) return;
  transact(db, () => {
    // Another process may have migrated it first.
    const version = readVersion(db, format);
    for (const migration of version === 0 ? [schema] : migrations.slice(version - oldest))
      if (typeof migration === "string") db.exec(migration);
      else migration(db);
    db.exec(`PRAGMA application_id = ${applicationId}; PRAGMA user_version = ${newest}`);
  });
}

/** The version that `migrate` creates. */
export function newestVersion({ oldest, migrations }: Pick<DatabaseFormat, "oldest" | "migrations">): number {
  return oldest + migrations.length;
}

/**
 * Migrates a database that already existed. Throws `store_corrupt` if it is empty: SQLite treats a truncated file as an
 * empty database, and `migrate` would fill it.
 */
export function migrateExisting(db: DatabaseSync, format: DatabaseFormat): void {
  const path = db.location() ?? "";
  if (readVersion(db, format) === 0)
    throw new LoomError("store_corrupt", `The file contains no ${format.name}: ${path}`, { path });
  migrate(db, format);
}

/** Returns 0 for an empty database. Throws `store_newer`, `store_older` or `store_corrupt`. */
export function readVersion(db: DatabaseSync, format: DatabaseFormat): number {
  const { name, applicationId, oldest, adviceOnOlder = ADVICE } = format;
  if (db.prepare("SELECT 1 FROM sqlite_schema LIMIT 1").get() === undefined) return 0;
  const path = db.location() ?? "";
  const version = readPragma(db, "user_version");
  const known = newestVersion(format);
  if (readPragma(db, "application_id") !== applicationId)
    throw new LoomError("store_corrupt", `The file is not a ${name}: ${path}`, { path });
  if (version < 1) throw new LoomError("store_corrupt", `The ${name} ${path} has no valid version number`, { path });
  if (version > known)
    throw new LoomError(
      "store_newer",
      `The ${name} ${path} has version ${version}, but this program supports versions up to ${known}; upgrade the program`,
      { version, known },
    );
  if (version < oldest)
    throw new LoomError(
      "store_older",
      `The ${name} ${path} has version ${version}, but this program migrates only version ${oldest} and newer; ${adviceOnOlder}`,
      { version, known },
    );
  return version;
}
