/** Opens a log in a SQLite file. Loads the implementation on the first call: a program without a store needs none of it. */
import { resolve } from "node:path";
import type { SqliteLog } from "./sqlite/sqlite-log.ts";
import type { SqliteLogOptions } from "./sqlite/sqlite-log-options.ts";

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
  // Before the import, because the working directory may change meanwhile. An empty path stays invalid.
  const absolutePath = path === "" ? path : resolve(path);
  const store = await import("./sqlite/sqlite-log.ts");
  return store.openSqliteLog(absolutePath, options);
}
