/** Opens a log in PostgreSQL. Loads the implementation on the first call: a program without a database needs none of it. */
import type { PostgresDatabase } from "../postgres/postgres-database.ts";
import type { PostgresLog } from "./postgres/postgres-log.ts";
import type { PostgresLogOptions } from "./postgres/postgres-log-options.ts";

/**
 * Opens the log in a PostgreSQL database, for several processes on several machines; creates its tables if they do not
 * exist. Needs the package `pg`. Close it with `close`.
 *
 * ```ts
 * const log = await openPostgresLog("postgres://loom@db.example.com/loom");
 * ```
 *
 * Throws `missing_package`, `store_unavailable`, `store_newer` or `store_failed`.
 */
export async function openPostgresLog(url: string, options?: PostgresLogOptions): Promise<PostgresLog> {
  const store = await import("./postgres/postgres-log.ts");
  return store.openPostgresLog(url, options);
}

/** Opens the log in a database that other parts of the process use too. The caller closes the database after the log. */
export async function openSharedPostgresLog(db: PostgresDatabase, options: PostgresLogOptions): Promise<PostgresLog> {
  const store = await import("./postgres/postgres-log.ts");
  return store.openPostgresLog(db, options);
}
