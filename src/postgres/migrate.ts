/**
 * Creates and updates the tables of one part of a database: the log, the credentials and so on. Versions only go
 * forward. Several processes may start at once: one of them migrates, the others wait.
 */
import { LoomError } from "../protocol/loom-error.ts";
import type { PostgresDatabase } from "./postgres-database.ts";

/** The tables of one part. A released migration is never edited. */
export interface PostgresFormat {
  readonly name: string;
  readonly migrations: readonly string[];
}

/** Throws `store_newer` if a newer version of Loom has migrated the database. */
export async function migratePostgres(db: PostgresDatabase, { name, migrations }: PostgresFormat): Promise<void> {
  const { schema } = db.settings;
  // Mostly there is nothing to do, and then no permission to create anything is needed.
  const [known] = await db.read<{ isPresent: boolean; encoding: string }>(
    `SELECT to_regclass($1) IS NOT NULL AS "isPresent", current_setting('server_encoding') AS encoding`,
    [`${db.escape(schema)}.migrations`],
  );
  if (known?.encoding !== "UTF8")
    throw new LoomError("store_failed", `The encoding of the database must be UTF8, not ${known?.encoding}`);
  if (known.isPresent && (await readVersion(db, name, migrations.length)) === migrations.length) return;
  await db.transact(async (transaction) => {
    await transaction.query("SELECT pg_advisory_xact_lock(hashtextextended($1, 0))", [`loom migrations of ${schema}`]);
    await transaction.query(`CREATE SCHEMA IF NOT EXISTS ${db.escape(schema)}`);
    await transaction.query(
      "CREATE TABLE IF NOT EXISTS @.migrations (name text PRIMARY KEY, version integer NOT NULL)",
    );
    const [row] = await transaction.query<VersionRow>(READ_VERSION, [name]);
    for (const sql of migrations.slice(assertKnown(row, migrations.length))) await transaction.query(sql);
    await transaction.query(
      "INSERT INTO @.migrations VALUES ($1, $2) ON CONFLICT (name) DO UPDATE SET version = excluded.version",
      [name, migrations.length],
    );
  });
}

const READ_VERSION = "SELECT version FROM @.migrations WHERE name = $1";

interface VersionRow {
  readonly version: number;
}

async function readVersion(db: PostgresDatabase, name: string, newest: number): Promise<number> {
  const [row] = await db.read<VersionRow>(READ_VERSION, [name]);
  return assertKnown(row, newest);
}

function assertKnown(row: VersionRow | undefined, newest: number): number {
  const { version = 0 } = row ?? {};
  if (version <= newest) return version;
  throw new LoomError(
    "store_newer",
    `The database has version ${version}; this version of Loom supports up to ${newest}. Upgrade Loom`,
    { version, supported: newest },
  );
}
