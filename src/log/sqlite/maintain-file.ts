/** Reads the status of the file of a store, migrates it, and renews its sessions, without opening a log. */
import { randomUUID } from "node:crypto";
import { existsSync } from "node:fs";
import type { DatabaseSync } from "node:sqlite";
import { asStoreError } from "../../sqlite/as-store-error.ts";
import { transact } from "../../sqlite/database.ts";
import { newestVersion, readVersion } from "../../sqlite/migrate.ts";
import { isHolderGone, processOf } from "../holder.ts";
import type { StoreCounts, StoredPartVersion, StoreStatus } from "../store-status.ts";
import { MAINTENANCE_OPTIONS, openConnection, openReader, prepareStore } from "./connection.ts";
import { STORE_FORMAT } from "./schema.ts";
import { SessionRows } from "./session-rows.ts";

/** Uses only tables and columns that all versions have. */
const COUNT = `WITH heads AS (
    SELECT s.first_id, s.base_pos,
      coalesce((SELECT id FROM recent WHERE session = s.key ORDER BY id DESC LIMIT 1),
        (SELECT last_id FROM extents WHERE session = s.key), 0) AS last_id,
      coalesce((SELECT pos FROM recent WHERE session = s.key ORDER BY id DESC LIMIT 1),
        (SELECT pos FROM extents WHERE session = s.key), 0) AS pos
    FROM sessions s WHERE s.session_id IS NOT NULL)
  SELECT count(*) AS sessions, coalesce(sum(max(0, last_id - first_id + 1)), 0) AS records,
    coalesce(sum(max(0, pos - base_pos)), 0) AS bytes,
    (SELECT count(*) FROM runs r JOIN sessions s ON s.key = r.session
      WHERE r.last_id IS NULL AND s.session_id IS NOT NULL) AS liveRuns,
    (SELECT count(*) FROM commands c JOIN sessions s ON s.key = c.session
      WHERE c.outcome IS NULL AND s.session_id IS NOT NULL) AS pendingCommands
  FROM heads`;

const HOLDERS =
  "SELECT DISTINCT holder FROM sessions WHERE session_id IS NOT NULL AND holder IS NOT NULL AND expires_at > ?";

/** Changes nothing. Throws `store_newer`, `store_corrupt` and other errors of stores. */
export function readFileStatus(path: string): StoreStatus {
  try {
    const db = openReader(path, MAINTENANCE_OPTIONS);
    try {
      const stored = readVersion(db, STORE_FORMAT);
      return { versions: [describeLog(stored)], counts: stored === 0 ? undefined : readCounts(db) };
    } finally {
      db.close();
    }
  } catch (error) {
    throw asStoreError(error, path);
  }
}

/** Creates or updates the file; returns its version before. Several processes may do this at once. */
export function migrateFile(path: string): readonly StoredPartVersion[] {
  const before = existsSync(path) ? readFileStatus(path).versions : [describeLog(0)];
  prepareStore(path, MAINTENANCE_OPTIONS);
  return before;
}

function describeLog(stored: number): StoredPartVersion {
  return { name: "log", stored, supported: newestVersion(STORE_FORMAT) };
}

function readCounts(db: DatabaseSync): StoreCounts {
  const counts = db.prepare(COUNT).get() as unknown as Omit<StoreCounts, "workers">;
  const holders = db.prepare(HOLDERS).all(Date.now()) as { holder: string }[];
  const live = holders.filter(({ holder }) => !isHolderGone(holder));
  // The last part of the name of a holder is a counter of its process.
  return { ...counts, workers: new Set(live.map(({ holder }) => processOf(holder))).size };
}

/**
 * Makes all cursors of a restored store stale: gives every session a new incarnation. A client may have received records
 * that were written after the backup; its cursor would skip the new records with the same IDs. Returns the number of
 * sessions.
 */
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
