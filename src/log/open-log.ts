/** Opens the log of a store: a file, or the URL of a PostgreSQL database. */
import { LoomError } from "../protocol/loom-error.ts";
import type { LogMonitor } from "./log-monitor.ts";
import type { Log } from "./log.ts";
import { openPostgresLog } from "./open-postgres-log.ts";
import { openSqliteLog } from "./open-sqlite-log.ts";
import type { PostgresLogOptions } from "./postgres/postgres-log-options.ts";
import type { SqliteLogOptions } from "./sqlite/sqlite-log-options.ts";

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
