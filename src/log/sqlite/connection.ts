/**
 * Opens a store. A new one is made whole beside its place and then put there, so that a store is never found half made
 * and an empty file is known for what it is: a store that lost everything.
 */
import {
  closeSync,
  fdatasyncSync,
  fsyncSync,
  linkSync,
  mkdirSync,
  openSync,
  renameSync,
  rmSync,
  statSync,
} from "node:fs";
import { randomUUID } from "node:crypto";
import { dirname } from "node:path";
import { DatabaseSync, type StatementSync } from "node:sqlite";
import { LoomError } from "../../protocol/loom-error.ts";
import { asStoreError } from "./failure.ts";
import { migrate } from "./schema.ts";

export interface ConnectionOptions {
  /** How long to wait for another process that writes. */
  readonly busyTimeoutMs: number;
  /** Largest size of the database file. */
  readonly maxFileBytes?: number | undefined;
}

const PAGE_BYTES = 4096;
/** Pages of write-ahead log after which it is written back. */
const CHECKPOINT_PAGES = 4000;

/** Makes the store if there is none, brings an older one up to date, and sees to it that all it shows is durable. */
export function prepareStore(path: string, options: ConnectionOptions): void {
  try {
    const size = statSync(path, { throwIfNoEntry: false })?.size;
    if (size === undefined) createStore(path);
    else if (size === 0) throw new LoomError("store_corrupt", `the store is an empty file: ${path}`, { path });
    const db = openConnection(path, options);
    try {
      migrate(db);
      assertSound(db);
      syncLog(path);
    } finally {
      db.close();
    }
  } catch (error) {
    throw asStoreError(error, path);
  }
}

/** What says where sessions end is small, and is looked through: an end that is missed would be written twice. */
function assertSound(db: DatabaseSync): void {
  const found = db.prepare("PRAGMA integrity_check('recent')").get()?.["integrity_check"];
  if (found !== "ok") throw new LoomError("store_corrupt", `the store is damaged: ${String(found)}`);
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
  const made = mkdirSync(folder, { recursive: true });
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
    place(draft, path);
    syncFolder(folder);
    if (made !== undefined) syncFolder(dirname(made));
  } finally {
    for (const suffix of ["", "-wal", "-shm"]) rmSync(draft + suffix, { force: true });
  }
}

/** Puts the file into its place unless another process was quicker. */
function place(draft: string, path: string): void {
  try {
    linkSync(draft, path);
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === "EEXIST") return;
    // A file system without links.
    if (code !== "EPERM" && code !== "ENOTSUP" && code !== "ENOSYS") throw error;
    renameSync(draft, path);
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
