/**
 * Versions of SQLite files. An older file is migrated in one transaction. A newer file, one that is too old and a
 * database of another program are rejected and left unchanged.
 */
import type { DatabaseSync } from "node:sqlite";
import { LoomError } from "../protocol/loom-error.ts";
import { readPragma, transact } from "./database.ts";

/** What a file contains, and how its tables are created and migrated. */
export interface DatabaseFormat {
  /** What the file is, for messages: `knowledge base`. */
  readonly name: string;
  /** `application_id` of the file, so that a database of another program is not mistaken for one of this format. */
  readonly applicationId: number;
  /** Entry n migrates version n to version n + 1. A released migration is never edited; every change is a new one. */
  readonly migrations: readonly string[];
  /** Adds the SQL functions that the migrations use. */
  readonly addFunctions?: (db: DatabaseSync) => void;
  /** The oldest version that can be migrated, and what to do with a file that is older. */
  readonly oldest?: { readonly version: number; readonly advice: string };
}

/** Migrates a database to the newest version. Throws like `readVersion`, without changes. */
export function migrate(db: DatabaseSync, format: DatabaseFormat): void {
  const { applicationId, migrations, addFunctions } = format;
  if (readVersion(db, format) === migrations.length) return;
  addFunctions?.(db);
  transact(db, () => {
    // Another process may have migrated it first.
    for (const migration of migrations.slice(readVersion(db, format))) db.exec(migration);
    db.exec(`PRAGMA application_id = ${applicationId}; PRAGMA user_version = ${migrations.length}`);
  });
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
export function readVersion(db: DatabaseSync, { name, applicationId, migrations, oldest }: DatabaseFormat): number {
  if (db.prepare("SELECT 1 FROM sqlite_schema LIMIT 1").get() === undefined) return 0;
  const path = db.location() ?? "";
  const version = readPragma(db, "user_version");
  const known = migrations.length;
  if (readPragma(db, "application_id") !== applicationId)
    throw new LoomError("store_corrupt", `The file is not a ${name}: ${path}`, { path });
  if (version < 1) throw new LoomError("store_corrupt", `The ${name} ${path} has no valid version number`, { path });
  if (version > known)
    throw new LoomError(
      "store_newer",
      `The ${name} ${path} has version ${version}, but this program supports versions up to ${known}; upgrade the program`,
      { version, known },
    );
  if (oldest !== undefined && version < oldest.version)
    throw new LoomError(
      "store_older",
      `The ${name} ${path} has version ${version}, but this program needs version ${oldest.version}; ${oldest.advice}`,
      { version, known },
    );
  return version;
}
