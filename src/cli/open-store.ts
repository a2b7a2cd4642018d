/** Opens the store of the command line. What people and agents say to each other is nobody else's: its owner's alone. */
import { type LogLimits, openSqliteLog, type SqliteLog } from "../log/index.ts";

export async function openStore(path: string, limits: Partial<LogLimits>): Promise<SqliteLog> {
  const before = process.umask(0o077);
  try {
    return await openSqliteLog(path, { limits });
  } finally {
    process.umask(before);
  }
}
