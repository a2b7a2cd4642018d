/**
 * Opens a store. A new one is made whole beside its place and then put there, so that a store is never found half made
 * and an empty file is known for what it is: a store that lost everything.
 */
import { chmodSync, closeSync, fdatasyncSync, fsyncSync, openSync, rmSync, statSync } from "node:fs";
import { randomUUID } from "node:crypto";
import { dirname } from "node:path";
import { DatabaseSync, type StatementSync } from "node:sqlite";
import { LoomError } from "../../protocol/loom-error.ts";
import { asStoreError, isWritable } from "./failure.ts";
import { makeFolder } from "./make-folder.ts";
import { placeFile } from "./place-file.ts";
import { migrate, readPragma, readVersion } from "./schema.ts";

export interface ConnectionOptions {
  /** How long to wait for another process that writes. */
  readonly busyTimeoutMs: number;
  /** Records that lie by themselves before they are put together by session. */
  readonly maxRecentRows: number;
  /** What may wait for the disk. */
  readonly maxQueueBytes: number;
  /** Largest size of the database file. */
  readonly maxFileBytes?: number | undefined;
  /** Largest size of a store that is looked through whole when it is opened. */
  readonly maxCheckBytes: number;
}

const PAGE_BYTES = 4096;
/** Pages of write-ahead log after which it is written back. */
const CHECKPOINT_PAGES = 4000;

/**
 * Makes the store if there is none, brings an older one up to date, and sees to it that all it shows is durable. Returns
 * which file it is, for `assertFile`.
 */
export function prepareStore(path: string, options: ConnectionOptions): string {
  try {
    const size = statSync(path, { throwIfNoEntry: false })?.size;
    if (size === undefined) {
      assertNoStrayLog(path);
      createStore(path);
    }
    if (size === 0) throw new LoomError("store_corrupt", `the store is an empty file: ${path}`, { path });
    assertLogThere(path);
    unlockLog(path);
    const db = openConnection(path, options);
    try {
      // SQLite takes the stump of a file for an empty database, and would fill it.
      if (readVersion(db) === 0) throw new LoomError("store_corrupt", `the file holds no store: ${path}`, { path });
      migrate(db);
      assertSound(db, options.maxCheckBytes);
      syncLog(path);
      return identifyFile(path) ?? "";
    } finally {
      db.close();
    }
  } catch (error) {
    throw asStoreError(error, path);
  }
}

/**
 * Rows are proven one by one when they are read. That none is missing is looked for here: in all of a small store, and
 * in a large one in what says which sessions there are and where they end, as an end that is missed would be written
 * twice.
 */
function assertSound(db: DatabaseSync, maxCheckBytes: number): void {
  const isSmall = readPragma(db, "page_count") * PAGE_BYTES <= maxCheckBytes;
  for (const table of isSmall ? [""] : ["('sessions')", "('recent')", "('extents')"]) {
    const found = db.prepare(`PRAGMA integrity_check${table}`).get()?.["integrity_check"];
    if (found !== "ok") throw new LoomError("store_corrupt", `the store is damaged: ${String(found)}`);
  }
}

/** Tells a file from another that is put in its place; undefined when there is none. */
function identifyFile(path: string): string | undefined {
  const stats = statSync(path, { bigint: true, throwIfNoEntry: false });
  return stats === undefined ? undefined : `${stats.dev}:${stats.ino}`;
}

/** Throws unless the store is still the file that was opened: those who have the old one would not see what is written. */
export function assertFile(path: string, file: string): void {
  const found = identifyFile(path);
  if (found === file) return;
  const what = found === undefined ? "the store is gone" : "another file has taken the place of the store";
  throw new LoomError("store_failed", `${what}: ${path}`, { path });
}

/**
 * What a killed process committed lately is in the write-ahead log alone, and SQLite takes a log that is not there for
 * an empty one. But it makes the log before its index and removes it after: an index alone is all that is left of a log
 * that somebody deleted. (Who deletes both, or moves the store without them, leaves no trace.)
 */
function assertLogThere(path: string): void {
  const exists = (file: string): boolean => statSync(file, { throwIfNoEntry: false }) !== undefined;
  // Another process may just be closing the store, or opening it; that does not last.
  for (let look = 0; look < 5; look++) if (!exists(`${path}-shm`) || exists(`${path}-wal`)) return;
  throw new LoomError(
    "store_corrupt",
    `the store has lost its write-ahead log, and the latest records with it: put ${path}-wal back, or delete ` +
      `${path}-shm to go on with what is left`,
    { path },
  );
}

/** The log of a store that was deleted without it would be taken for that of the new one. */
function assertNoStrayLog(path: string): void {
  if (statSync(`${path}-wal`, { throwIfNoEntry: false }) === undefined) return;
  // Another process may have made the store just now.
  if (statSync(path, { throwIfNoEntry: false }) !== undefined) return;
  throw new LoomError(
    "store_corrupt",
    `the store is gone and has left its write-ahead log: put ${path} back, or delete ${path}-wal too`,
    { path },
  );
}

/**
 * While a store may only be read, SQLite makes its log such that it cannot be written either, and leaves it behind. When
 * the store may be written again, its log must be too.
 */
function unlockLog(path: string): void {
  if (!isWritable(path)) return;
  const { mode } = statSync(path);
  for (const file of [`${path}-wal`, `${path}-shm`]) {
    if (statSync(file, { throwIfNoEntry: false }) === undefined || isWritable(file)) continue;
    try {
      chmodSync(file, mode & 0o777);
    } catch (error) {
      // The process it was of has just closed the store.
      if ((error as NodeJS.ErrnoException).code !== "ENOENT") throw error;
    }
  }
}

/**
 * A process that was killed may leave commits in the write-ahead log that were written but not synced. They are found
 * when the store is opened, and would be shown; so they are made durable first.
 */
function syncLog(path: string): void {
  try {
    const file = openSync(`${path}-wal`, "r");
    try {
      fdatasyncSync(file);
    } finally {
      closeSync(file);
    }
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "ENOENT") throw error;
  }
}

function createStore(path: string): void {
  const folder = dirname(path);
  const made = makeFolder(folder);
  const draft = `${path}.new-${randomUUID()}`;
  try {
    const db = new DatabaseSync(draft);
    try {
      db.exec(`PRAGMA page_size = ${PAGE_BYTES}; PRAGMA auto_vacuum = INCREMENTAL`);
      db.exec("PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL");
      migrate(db);
    } finally {
      db.close();
    }
    placeFile(draft, path);
    syncFolder(folder);
    if (made !== undefined) syncFolder(dirname(made));
  } finally {
    for (const suffix of ["", "-wal", "-shm"]) rmSync(draft + suffix, { force: true });
  }
}

function syncFolder(folder: string): void {
  const handle = openSync(folder, "r");
  try {
    fsyncSync(handle);
  } finally {
    closeSync(handle);
  }
}

export function openConnection(path: string, { busyTimeoutMs, maxFileBytes }: ConnectionOptions): DatabaseSync {
  const db = new DatabaseSync(path, { timeout: busyTimeoutMs });
  try {
    db.exec(`PRAGMA synchronous = FULL; PRAGMA wal_autocheckpoint = ${CHECKPOINT_PAGES}`);
    // What is deleted is overwritten where its page is written anyway; pages that become free are given back by `sweep`.
    db.exec("PRAGMA secure_delete = FAST");
    db.exec("PRAGMA cache_size = -16384; PRAGMA journal_size_limit = 67108864; PRAGMA temp_store = MEMORY");
    if (maxFileBytes !== undefined) db.exec(`PRAGMA max_page_count = ${Math.ceil(maxFileBytes / PAGE_BYTES)}`);
    return db;
  } catch (error) {
    db.close();
    throw error;
  }
}

/** A connection that only reads. */
export function openReader(path: string, options: ConnectionOptions): DatabaseSync {
  const db = openConnection(path, options);
  // No memory map: a file cut short under one kills the process instead of giving an error.
  db.exec("PRAGMA query_only = ON");
  return db;
}

export type Statements<T> = { readonly [K in keyof T]: StatementSync };

export function prepareAll<T extends { readonly [name: string]: string }>(db: DatabaseSync, texts: T): Statements<T> {
  const prepared = Object.entries(texts).map(([name, text]) => [name, db.prepare(text)]);
  return Object.fromEntries(prepared) as Statements<T>;
}
