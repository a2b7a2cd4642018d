/** Opens the session store with permissions for its owner only. */
import { openSqliteLog, type SqliteLog, type SqliteLogOptions } from "../log/index.ts";

export async function openStore(path: string, options: SqliteLogOptions): Promise<SqliteLog> {
  const before = process.umask(0o077);
  try {
    return await openSqliteLog(path, options);
  } finally {
    process.umask(before);
  }
}
