/** Connections to a SQLite database: pragmas, statements, transactions and integrity checks. */
import { DatabaseSync, type StatementSync } from "node:sqlite";
import { LoomError } from "../protocol/loom-error.ts";

export interface ConnectionOptions {
  /** How long SQLite blocks the thread while another process writes, in milliseconds. */
  readonly busyTimeoutMs: number;
  /** Whether every commit is synced (`FULL`), or a power failure may undo the last ones (`NORMAL`). */
  readonly synchronous: "FULL" | "NORMAL";
  /** Whether deleted data is always overwritten (`ON`), or only in pages that are written anyway (`FAST`). */
  readonly secureDelete: "ON" | "FAST";
  readonly cacheBytes: number;
  /** Size to which the write-ahead log is truncated after a checkpoint, in bytes. */
  readonly maxWalBytes: number;
}

/**
 * Opens a connection and runs `prepare` on it; closes it if that throws. Its pragmas do not change the file, so
 * `prepare` can reject a database of another program.
 */
export function openDatabase(
  path: string,
  { busyTimeoutMs, synchronous, secureDelete, cacheBytes, maxWalBytes }: ConnectionOptions,
  prepare: (db: DatabaseSync) => void,
): DatabaseSync {
  const db = new DatabaseSync(path, { timeout: busyTimeoutMs });
  try {
    db.exec(`PRAGMA synchronous = ${synchronous}; PRAGMA secure_delete = ${secureDelete}`);
    db.exec(`PRAGMA cache_size = -${cacheBytes / 1024}; PRAGMA journal_size_limit = ${maxWalBytes}`);
    db.exec("PRAGMA temp_store = MEMORY");
    prepare(db);
    return db;
  } catch (error) {
    db.close();
    throw error;
  }
}

export type Statements<T> = { readonly [K in keyof T]: StatementSync };

export function prepareAll<T extends { readonly [name: string]: string }>(db: DatabaseSync, texts: T): Statements<T> {
  const prepared = Object.entries(texts).map(([name, text]) => [name, db.prepare(text)]);
  return Object.fromEntries(prepared) as Statements<T>;
}

export function readPragma(db: DatabaseSync, name: string): number {
  return Number(Object.values(db.prepare(`PRAGMA ${name}`).get() ?? {})[0]);
}

/** Runs `work` in a write transaction and returns its result. Rolls back if it throws. */
export function transact<T>(db: DatabaseSync, work: () => T): T {
  db.exec("BEGIN IMMEDIATE");
  try {
    const result = work();
    db.exec("COMMIT");
    return result;
  } finally {
    // SQLite has already rolled back if the disk is full.
    if (db.isTransaction) db.exec("ROLLBACK");
  }
}

/** Throws `store_corrupt` if SQLite finds damage. `check` is a pragma, `name` what the file is, for the message. */
export function assertIntact(db: DatabaseSync, name: string, check = "quick_check(1)"): void {
  const found = Object.values(db.prepare(`PRAGMA ${check}`).get() ?? {})[0];
  if (found === "ok") return;
  const path = db.location() ?? "";
  throw new LoomError("store_corrupt", `The ${name} ${path} is damaged: ${String(found)}`, { path });
}
