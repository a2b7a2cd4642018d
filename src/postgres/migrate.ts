/**
 * Creates and updates the tables of one part of a database: the log, the credentials and so on. Versions only go
 * forward. Several processes may start at once: one of them migrates, the others wait.
 */
import { LoomError } from "../protocol/loom-error.ts";
import { isRefused } from "./as-postgres-error.ts";
import type { PostgresDatabase } from "./postgres-database.ts";

/** The tables of one part. */
export interface PostgresFormat {
  readonly name: string;
  /** Creates the tables of the newest version. Change it together with each new migration. */
  readonly schema: string;
  /** The oldest version that can be migrated. */
  readonly oldest: number;
  /** Entry n migrates version `oldest + n` to the next one. A migration is never edited; every change is a new one. */
  readonly migrations: readonly string[];
}

/**
 * Returns the version before. Throws `store_newer` if a newer version of Loom has migrated the database, `store_older` if
 * its tables are too old, and `store_failed` if the user of the database may not create tables.
 */
export async function migratePostgres(db: PostgresDatabase, format: PostgresFormat): Promise<number> {
  // Mostly there is nothing to do, and then no permission to create anything is needed.
  const version = assertKnown((await readVersions(db)).get(format.name), format);
  if (version === newestVersion(format)) return version;
  try {
    return await update(db, format);
  } catch (error) {
    if (!isRefused(error)) throw error;
    throw new LoomError(
      "store_failed",
      `The tables of the database ${db.where} must be updated, but this user may not create tables; run \`loom store migrate\` as a user who may`,
      {},
      { cause: error },
    );
  }
}

/** Reads the version of every part that the database has; none if it has no tables. */
export async function readVersions(db: PostgresDatabase): Promise<ReadonlyMap<string, number>> {
  const { schema } = db.settings;
  const [known] = await db.read<{ isPresent: boolean; encoding: string }>(
    `SELECT to_regclass($1) IS NOT NULL AS "isPresent", current_setting('server_encoding') AS encoding`,
    [`${db.escape(schema)}.migrations`],
  );
  if (known?.encoding !== "UTF8")
    throw new LoomError("store_failed", `The encoding of the database must be UTF8, not ${known?.encoding}`);
  if (!known.isPresent) return new Map();
  const rows = await db.read<VersionRow>("SELECT name, version FROM @.migrations");
  return new Map(rows.map(({ name, version }) => [name, version]));
}

async function update(db: PostgresDatabase, format: PostgresFormat): Promise<number> {
  const { name, oldest, migrations } = format;
  const { schema } = db.settings;
  return db.transact(async (transaction) => {
    await transaction.query("SELECT pg_advisory_xact_lock(hashtextextended($1, 0))", [`loom migrations of ${schema}`]);
    await transaction.query(`CREATE SCHEMA IF NOT EXISTS ${db.escape(schema)}`);
    await transaction.query(
      "CREATE TABLE IF NOT EXISTS @.migrations (name text PRIMARY KEY, version integer NOT NULL)",
    );
    const [row] = await transaction.query<VersionRow>("SELECT name, version FROM @.migrations WHERE name = $1", [name]);
    const version = assertKnown(row?.version, format);
    for (const sql of version === 0 ? [format.schema] : migrations.slice(version - oldest))
      await transaction.query(sql);
    await transaction.query(
      "INSERT INTO @.migrations VALUES ($1, $2) ON CONFLICT (name) DO UPDATE SET version = excluded.version",
      [name, newestVersion(format)],
    );
    return version;
  });
}

interface VersionRow {
  readonly name: string;
  readonly version: number;
}

/** The version that `migratePostgres` creates. */
export function newestVersion({ oldest, migrations }: PostgresFormat): number {
  return oldest + migrations.length;
}

/** Returns 0 for a part without tables. Throws `store_newer` or `store_older`. */
export function assertKnown(version = 0, format: PostgresFormat): number {
  const { name, oldest } = format;
  const supported = newestVersion(format);
  if (version > supported)
    throw new LoomError(
      "store_newer",
      `The database has version ${version} of the ${name}; this version of Loom supports up to ${supported}. Upgrade Loom`,
      { version, supported },
    );
  if (version > 0 && version < oldest)
    throw new LoomError(
      "store_older",
      `The database has version ${version} of the ${name}; this version of Loom migrates only version ${oldest} and newer. Migrate it first with commit 8bf344a2 of Loom`,
      { version, supported },
    );
  return version;
}
