/**
 * Opens a store file. A new store is created under a temporary name and then moved into place, so that an incomplete
 * store is never opened, and an empty file is known to be a store that lost its contents.
 */
import { chmodSync, closeSync, fdatasyncSync, fsyncSync, openSync, rmSync, statSync } from "node:fs";
import { randomUUID } from "node:crypto";
import { dirname } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { LoomError } from "../../protocol/loom-error.ts";
import { asStoreError, isWritable } from "../../sqlite/as-store-error.ts";
import { assertIntact, readPragma } from "../../sqlite/database.ts";
import { makeFolder } from "../../sqlite/make-folder.ts";
import { migrate, readVersion } from "../../sqlite/migrate.ts";
import { placeFile } from "../../sqlite/place-file.ts";
import { STORE_FORMAT } from "./schema.ts";

export interface StoreConnectionOptions {
  /** How long to wait for another process that writes, in milliseconds. */
  readonly busyTimeoutMs: number;
  /** Rows in `recent` after which it is compacted. */
  readonly maxRecentRows: number;
  /** Maximum size of the write queue in bytes. */
  readonly maxQueueBytes: number;
  /** Maximum size of the database file in bytes. */
  readonly maxFileBytes?: number | undefined;
  /** Maximum file size in bytes that is checked completely when opened. */
  readonly maxCheckBytes: number;
}

const PAGE_BYTES = 4096;
/** Pages in the write-ahead log after which SQLite checkpoints it. */
const CHECKPOINT_PAGES = 4000;

/**
 * Creates the store if it does not exist, migrates an older one, and syncs everything it contains to disk. Returns the
 * identity of the file, for `assertFile`.
 */
export function prepareStore(path: string, options: StoreConnectionOptions): string {
  try {
    const size = statSync(path, { throwIfNoEntry: false })?.size;
    if (size === undefined) {
      assertNoStrayWal(path);
      createStore(path);
    }
    if (size === 0)
      throw new LoomError(
        "store_corrupt",
        `The store is an empty file: ${path}; restore it from a backup, or delete it to start a new store`,
        { path },
      );
    assertWalPresent(path);
    makeWalWritable(path);
    const db = openConnection(path, options);
    try {
      // SQLite treats a truncated file as an empty database and would fill it.
      if (readVersion(db, STORE_FORMAT) === 0)
        throw new LoomError("store_corrupt", `The file contains no store: ${path}`, { path });
      migrate(db, STORE_FORMAT);
      assertIntegrity(db, options.maxCheckBytes);
      syncWal(path);
      return identifyFile(path) ?? "";
    } finally {
      db.close();
    }
  } catch (error) {
    throw asStoreError(error, path);
  }
}

/**
 * Checks that no rows are missing; the contents of rows are checked when they are read. A small store is checked
 * completely. In a large one, only the tables that list the sessions and their last records are checked: a missing last
 * record would cause IDs to be written twice.
 */
function assertIntegrity(db: DatabaseSync, maxCheckBytes: number): void {
  const isSmall = readPragma(db, "page_count") * PAGE_BYTES <= maxCheckBytes;
  for (const table of isSmall ? [""] : ["('sessions')", "('recent')", "('extents')"])
    assertIntact(db, STORE_FORMAT.name, `integrity_check${table}`);
}

/** Identifies a file on disk, to detect that it was replaced; undefined if it does not exist. */
function identifyFile(path: string): string | undefined {
  const stats = statSync(path, { bigint: true, throwIfNoEntry: false });
  return stats === undefined ? undefined : `${stats.dev}:${stats.ino}`;
}

/**
 * Throws `store_failed` unless the path still names the file that was opened. Processes that opened the old file would
 * not see writes to the new one.
 */
export function assertFile(path: string, file: string): void {
  const found = identifyFile(path);
  if (found === file) return;
  const what = found === undefined ? "The store file was deleted" : "The store file was replaced by another file";
  throw new LoomError("store_failed", `${what}: ${path}`, { path });
}

/**
 * Throws `store_corrupt` if the write-ahead log was deleted. After a crash, the latest commits are only in the log, and
 * SQLite treats a missing log as empty. SQLite creates the log before its index (`-shm`) and deletes it after, so an
 * index without a log means that the log was deleted. If both files are missing, the loss cannot be detected.
 */
function assertWalPresent(path: string): void {
  const exists = (file: string): boolean => statSync(file, { throwIfNoEntry: false }) !== undefined;
  // Another process may be opening or closing the store, which takes only a moment.
  for (let attempt = 0; attempt < 5; attempt++) if (!exists(`${path}-shm`) || exists(`${path}-wal`)) return;
  throw new LoomError(
    "store_corrupt",
    `The write-ahead log of the store is missing, and with it the latest records: restore ${path}-wal, or delete` +
      ` ${path}-shm to continue without them`,
    { path },
  );
}

/** SQLite would apply the write-ahead log of a deleted store to the new one. */
function assertNoStrayWal(path: string): void {
  if (statSync(`${path}-wal`, { throwIfNoEntry: false }) === undefined) return;
  // Another process may have just created the store.
  if (statSync(path, { throwIfNoEntry: false }) !== undefined) return;
  throw new LoomError(
    "store_corrupt",
    `The store file is missing, but its write-ahead log exists: restore ${path}, or delete ${path}-wal`,
    { path },
  );
}

/**
 * Makes the write-ahead log writable if the store is. SQLite creates a read-only log while the store is read-only, and
 * leaves it behind.
 */
function makeWalWritable(path: string): void {
  if (!isWritable(path)) return;
  const { mode } = statSync(path);
  for (const file of [`${path}-wal`, `${path}-shm`]) {
    if (statSync(file, { throwIfNoEntry: false }) === undefined || isWritable(file)) continue;
    try {
      chmodSync(file, mode & 0o777);
    } catch (error) {
      // Another process has just closed the store and deleted the file.
      if ((error as NodeJS.ErrnoException).code !== "ENOENT") throw error;
    }
  }
}

/**
 * Syncs the write-ahead log. A killed process may have written commits to it without syncing them; they would become
 * visible before they are durable.
 */
function syncWal(path: string): void {
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
      migrate(db, STORE_FORMAT);
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

export function openConnection(path: string, { busyTimeoutMs, maxFileBytes }: StoreConnectionOptions): DatabaseSync {
  const db = new DatabaseSync(path, { timeout: busyTimeoutMs });
  try {
    db.exec(`PRAGMA synchronous = FULL; PRAGMA wal_autocheckpoint = ${CHECKPOINT_PAGES}`);
    // Overwrites deleted data in pages that are written anyway; `sweep` returns free pages to the file system.
    db.exec("PRAGMA secure_delete = FAST");
    db.exec("PRAGMA cache_size = -16384; PRAGMA journal_size_limit = 67108864; PRAGMA temp_store = MEMORY");
    if (maxFileBytes !== undefined) db.exec(`PRAGMA max_page_count = ${Math.ceil(maxFileBytes / PAGE_BYTES)}`);
    return db;
  } catch (error) {
    db.close();
    throw error;
  }
}

/** Opens a read-only connection. */
export function openReader(path: string, options: StoreConnectionOptions): DatabaseSync {
  const db = openConnection(path, options);
  // No memory mapping: truncating a mapped file kills the process instead of causing an error.
  db.exec("PRAGMA query_only = ON");
  return db;
}
