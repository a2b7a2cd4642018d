/** Reads everything in a store and names what is damaged; one damaged session does not hide the others. */
import type { DatabaseSync } from "node:sqlite";
import { assertIntact } from "../../sqlite/database.ts";
import { asStoreError } from "../../sqlite/as-store-error.ts";
import { migrateExisting } from "../../sqlite/migrate.ts";
import { Page } from "../page.ts";
import { assertNoLoss, MAINTENANCE_OPTIONS, openConnection } from "./connection.ts";
import { STORE_FORMAT } from "./schema.ts";
import type { StoredSession } from "./session-rows.ts";
import { prepareRows, type StoreRows } from "./store-rows.ts";

const PAGE_RECORDS = 1000;
const PAGE_BYTES = 1024 * 1024;
const ROWS = 1000;
const MAX_ID = Number.MAX_SAFE_INTEGER;

/** Something in a store that cannot be read. */
export interface StoreDamage {
  /** The session, or `store` if the damage belongs to none. */
  readonly what: string;
  readonly message: string;
}

export interface VerifiedStore {
  readonly sessions: readonly string[];
  readonly records: number;
  readonly damage: readonly StoreDamage[];
}

/** Reads a store. Calls `onProgress` with the number of sessions read so far. */
export function verifyStore(path: string, onProgress: (sessions: number) => void): VerifiedStore {
  try {
    const damage: StoreDamage[] = [];
    attempt(damage, "store", () => assertNoLoss(path, MAINTENANCE_OPTIONS));
    const db = openConnection(path, MAINTENANCE_OPTIONS);
    try {
      migrateExisting(db, STORE_FORMAT);
      db.exec("PRAGMA query_only = ON");
      return readAll(db, damage, onProgress);
    } finally {
      db.close();
    }
  } catch (error) {
    throw asStoreError(error, path);
  }
}

/** Runs a check. Adds what it finds to `damage`. */
function attempt(damage: StoreDamage[], what: string, check: () => void): void {
  try {
    check();
  } catch (error) {
    damage.push({ what, message: asStoreError(error, "").message });
  }
}

function readAll(db: DatabaseSync, damage: StoreDamage[], onProgress: (sessions: number) => void): VerifiedStore {
  const sessions: string[] = [];
  let records = 0;
  attempt(damage, "store", () => assertIntact(db, STORE_FORMAT.name, "integrity_check"));
  const rows = prepareRows(db);
  const keys = db.prepare("SELECT key, session_id AS name FROM sessions WHERE session_id IS NOT NULL ORDER BY key");
  const commandIds = db.prepare("SELECT command_id AS id FROM commands WHERE session = ?");
  for (const { key, name } of keys.all() as { key: number; name: string }[]) {
    sessions.push(name);
    attempt(damage, name, () => {
      // One snapshot per session: it may be written meanwhile.
      db.exec("BEGIN");
      try {
        const row = rows.sessions.findByKey(key);
        if (row?.sessionId == null) return;
        records += readRecords(row, rows.records);
        rows.carried.list(key);
        readRuns(key, rows.runs);
        for (const { id } of commandIds.iterate(key) as Iterable<unknown> as Iterable<{ id: string }>)
          rows.commands.find(key, id);
        for (const kind of ["checkpoint", "todo_list", "tool_permission", "tool_approval"] as const)
          rows.landmarks.list(key, kind, MAX_ID, MAX_ID);
      } finally {
        db.exec("COMMIT");
      }
    });
    onProgress(sessions.length);
  }
  return { sessions, records, damage };
}

/** Reads all records, and parses them. */
function readRecords(session: StoredSession, records: StoreRows["records"]): number {
  const { key, firstId, sessionId, incarnation } = session;
  const last = records.findLast(session).id;
  for (let after = firstId - 1; after < last;) {
    const { text, count } = records.read(key, after, PAGE_RECORDS, PAGE_BYTES);
    const page = new Page(sessionId ?? "", after, after + count, text, incarnation);
    after += page.records.length;
  }
  return Math.max(0, last - firstId + 1);
}

function readRuns(session: number, runs: StoreRows["runs"]): void {
  for (let before: number | undefined = MAX_ID; before !== undefined;)
    before = runs.list(session, before, ROWS).at(-1)?.firstId;
}
