/**
 * Opens the log of a store: a file, or the URL of a PostgreSQL database. The implementation is loaded on the first call: a
 * program without a store needs none of it.
 */
import { resolve } from "node:path";
import type { PostgresDatabase } from "../postgres/postgres-database.ts";
import { LoomError } from "../protocol/loom-error.ts";
import type { LogMonitor } from "./log-monitor.ts";
import type { Log } from "./log.ts";
import type { PostgresLog } from "./postgres/postgres-log.ts";
import type { SqliteLog } from "./sqlite/sqlite-log.ts";
import type { PostgresLogOptions, SqliteLogOptions } from "./store-options.ts";

/** Options of all stores. */
export type StoreOptions = SqliteLogOptions & PostgresLogOptions;

/** A log that can fail. */
export type StoredLog = Log & { readonly monitor: LogMonitor };

/** Whether the store is a PostgreSQL database. Throws `store_failed` for a URL of another kind. */
export function isDatabaseUrl(store: string): boolean {
  const scheme = /^([a-z][a-z\d+.-]+):\/\//i.exec(store)?.[1]?.toLowerCase();
  if (scheme === undefined) return false;
  if (scheme === "postgres" || scheme === "postgresql") return true;
  throw new LoomError(
    "store_failed",
    `A store is a file or a URL such as postgres://user@host/database, not one that starts with ${scheme}://`,
  );
}

/** Opens the store; creates it if it does not exist. Throws the errors of `openSqliteLog` and `openPostgresLog`. */
export async function openLog(store: string, options: StoreOptions = {}): Promise<StoredLog> {
  return isDatabaseUrl(store) ? openPostgresLog(store, options) : openSqliteLog(store, options);
}

/**
 * Opens the store at `path`; creates it if it does not exist. Close it with `close`.
 *
 * ```ts
 * const log = await openSqliteLog("sessions.db");
 * ```
 *
 * Throws `store_corrupt`, `store_newer`, `store_read_only`, `store_busy`, `store_full` or `store_failed`.
 */
export async function openSqliteLog(path: string, options?: SqliteLogOptions): Promise<SqliteLog> {
  if (path === "") throw new LoomError("store_failed", "The path of a store must not be empty");
  // Before the import, because the working directory may change meanwhile.
  const absolutePath = resolve(path);
  const store = await import("./sqlite/sqlite-log.ts");
  return store.openSqliteLog(absolutePath, options);
}

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
