/**
 * Makes all cursors of a restored store stale. A client may have received records that were written after the backup;
 * its cursor would skip the new records with the same IDs.
 */
import { randomUUID } from "node:crypto";
import { transact } from "../../sqlite/database.ts";
import { MAINTENANCE_OPTIONS, openConnection, prepareStore } from "./connection.ts";
import { SessionRows } from "./session-rows.ts";

/** Gives every session of the store a new incarnation. Returns the number of sessions. */
export function renewSessions(path: string): number {
  prepareStore(path, MAINTENANCE_OPTIONS);
  const db = openConnection(path, MAINTENANCE_OPTIONS);
  try {
    const rows = new SessionRows(db);
    return transact(db, () => {
      const keys = db.prepare("SELECT key FROM sessions WHERE session_id IS NOT NULL").all();
      for (const { key } of keys) rows.renew(Number(key), randomUUID());
      return keys.length;
    });
  } finally {
    db.close();
  }
}
