/** Reads the status of a database, and migrates it, without opening a log. */
import {
  assertKnown,
  migratePostgres,
  newestVersion,
  type PostgresFormat,
  readVersions,
} from "../../postgres/migrate.ts";
import { openPostgres, type PostgresDatabase } from "../../postgres/postgres-database.ts";
import type { PostgresOptions } from "../../postgres/postgres-options.ts";
import type { StoreCounts, StoredPartVersion, StoreStatus } from "../store-status.ts";
import { LOG_FORMAT } from "./schema.ts";
import { NOW } from "./session-rows.ts";

/** The last part of the name of a holder is a counter of its process. */
const COUNT = `SELECT count(*) AS sessions, coalesce(sum(s.last_id - s.first_id + 1), 0)::bigint AS records,
    coalesce(sum(s.pos - s.base_pos), 0)::bigint AS bytes,
    count(DISTINCT regexp_replace(s.holder, '/[0-9]+$', '')) FILTER (WHERE s.expires_at > ${NOW}) AS workers,
    (SELECT count(*) FROM @.runs r JOIN @.sessions l ON l.key = r.session
      WHERE r.last_id IS NULL AND l.session_id IS NOT NULL) AS "liveRuns",
    (SELECT count(*) FROM @.commands WHERE outcome IS NULL) AS "pendingCommands"
  FROM @.sessions s WHERE s.session_id IS NOT NULL`;

/** One attempt is enough to see whether the database is available. Changes nothing. `formats` are those of other parts. Throws `store_newer`, `store_older`, `store_unavailable` or `store_failed`. */
export async function readDatabaseStatus(
  url: string,
  formats: readonly PostgresFormat[],
  options: PostgresOptions = {},
): Promise<StoreStatus> {
  return withDatabase(url, { ...options, readWaitMs: 0 }, async (db) => {
    const stored = await readVersions(db);
    const all = [LOG_FORMAT, ...formats];
    const versions = all.map((format) => describePart(format, assertKnown(stored.get(format.name), format)));
    const counts = stored.has(LOG_FORMAT.name) ? await db.read<StoreCounts>(COUNT, [null]) : [];
    return { versions, counts: counts[0] };
  });
}

/**
 * Creates and updates the tables of all parts; returns their versions before. Several processes may do this at once.
 * Throws like `readDatabaseStatus`.
 */
export async function migrateDatabase(
  url: string,
  formats: readonly PostgresFormat[],
  options: PostgresOptions = {},
): Promise<readonly StoredPartVersion[]> {
  return withDatabase(url, options, async (db) => {
    const parts: StoredPartVersion[] = [];
    // A part that is newer or too old is found before any other is changed.
    const stored = await readVersions(db);
    for (const format of [LOG_FORMAT, ...formats]) assertKnown(stored.get(format.name), format);
    for (const format of [LOG_FORMAT, ...formats]) parts.push(describePart(format, await migratePostgres(db, format)));
    return parts;
  });
}

function describePart(format: PostgresFormat, stored: number): StoredPartVersion {
  return { name: format.name, stored, supported: newestVersion(format) };
}

async function withDatabase<T>(
  url: string,
  options: PostgresOptions,
  use: (db: PostgresDatabase) => Promise<T>,
): Promise<T> {
  const db = await openPostgres(url, { maxConnections: 2, ...options });
  try {
    return await use(db);
  } finally {
    await db.close();
  }
}
