/** Opens the session store with permissions for its owner only. */
import { type LogLimits, openSqliteLog, type SqliteLog } from "../log/index.ts";

export async function openStore(
  path: string,
  limits: Partial<LogLimits>,
  searchTimeoutMs?: number,
): Promise<SqliteLog> {
  const before = process.umask(0o077);
  try {
    return await openSqliteLog(path, { limits, ...(searchTimeoutMs === undefined ? {} : { searchTimeoutMs }) });
  } finally {
    process.umask(before);
  }
}
