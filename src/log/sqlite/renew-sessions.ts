/**
 * Makes all cursors of a restored store stale. A client may have received records that were written after the backup;
 * its cursor would skip the new records with the same IDs.
 */
import { randomUUID } from "node:crypto";
import { transact } from "../../sqlite/database.ts";
import { MAINTENANCE_OPTIONS, openConnection, prepareStore } from "./connection.ts";
import { SessionRows } from "./session-rows.ts";

/** Gives every session of the store a new incarnation. */
export function renewSessions(path: string): void {
  prepareStore(path, MAINTENANCE_OPTIONS);
  const db = openConnection(path, MAINTENANCE_OPTIONS);
  try {
    const rows = new SessionRows(db);
    transact(db, () => {
      for (const { key } of db.prepare("SELECT key FROM sessions WHERE session_id IS NOT NULL").all())
        rows.renew(Number(key), randomUUID());
    });
  } finally {
    db.close();
  }
}
