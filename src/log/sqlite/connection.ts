/** Opens the file of a store: creates, checks and migrates it, and opens connections to it. */
import { DatabaseSync } from "node:sqlite";
import { asStoreError } from "../../sqlite/as-store-error.ts";
import { assertIntact, type ConnectionOptions, openDatabase, readPragma } from "../../sqlite/database.ts";
import { assertCommits } from "../../sqlite/commit-mark.ts";
import { ensureFile } from "../../sqlite/ensure-file.ts";
import { identifyFile } from "../../sqlite/file-identity.ts";
import { migrate, migrateExisting } from "../../sqlite/migrate.ts";
import { syncWal } from "../../sqlite/write-ahead-log.ts";
import type { LogLimits } from "../log-limits.ts";
import { readLastCommit } from "./commit-journal.ts";
import { STORE_FORMAT } from "./schema.ts";

export interface StoreConnectionOptions {
  /** How long to wait for another process that writes, in milliseconds. */
  readonly busyTimeoutMs: number;
  /** Rows in `recent` after which it is compacted. */
  readonly maxRecentRows: number;
  /** Maximum size of the database file in bytes. */
  readonly maxFileBytes?: number | undefined;
  /** Maximum file size in bytes that is checked completely when opened. */
  readonly maxCheckBytes: number;
}

/** What each thread opens a store with. */
export interface OpenedStore {
  readonly path: string;
  /** Identity of the store file, see `assertFile`. */
  readonly file: string;
  readonly options: StoreConnectionOptions;
  readonly limits: LogLimits;
}

/** Options of commands that maintain a store and do not serve it. */
export const MAINTENANCE_OPTIONS: StoreConnectionOptions = {
  busyTimeoutMs: 10_000,
  maxRecentRows: 4096,
  maxCheckBytes: 0,
};

const PAGE_BYTES = 4096;
/** Pages in the write-ahead log after which SQLite checkpoints it. */
const CHECKPOINT_PAGES = 4000;
const CACHE_BYTES = 16 * 1024 * 1024;
const MAX_WAL_BYTES = 64 * 1024 * 1024;

/**
 * Creates the store if it does not exist, migrates an older one, and syncs everything it contains to disk. Returns the
 * identity of the file, for `assertFile`.
 */
export function prepareStore(path: string, options: StoreConnectionOptions): string {
  try {
    ensureFile(path, { name: STORE_FORMAT.name, create: createStore });
    assertNoLoss(path, options);
    const db = openConnection(path, options);
    try {
      migrateExisting(db, STORE_FORMAT);
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

/** Throws `store_corrupt` if commits are missing. */
export function assertNoLoss(path: string, options: StoreConnectionOptions): void {
  assertCommits(path, STORE_FORMAT.name, () => {
    const db = openConnection(path, options);
    try {
      return readLastCommit(db);
    } finally {
      db.close();
    }
  });
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

function createStore(path: string): void {
  const db = new DatabaseSync(path);
  try {
    db.exec(`PRAGMA page_size = ${PAGE_BYTES}; PRAGMA auto_vacuum = INCREMENTAL`);
    db.exec("PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL");
    migrate(db, STORE_FORMAT);
  } finally {
    db.close();
  }
}

export function openConnection(path: string, { busyTimeoutMs, maxFileBytes }: StoreConnectionOptions): DatabaseSync {
  // `sweep` returns free pages to the file system; `FAST` overwrites deleted data in the others.
  const options: ConnectionOptions = {
    busyTimeoutMs,
    synchronous: "FULL",
    secureDelete: "FAST",
    cacheBytes: CACHE_BYTES,
    maxWalBytes: MAX_WAL_BYTES,
  };
  return openDatabase(path, options, (db) => {
    db.exec(`PRAGMA wal_autocheckpoint = ${CHECKPOINT_PAGES}`);
    if (maxFileBytes !== undefined) db.exec(`PRAGMA max_page_count = ${Math.ceil(maxFileBytes / PAGE_BYTES)}`);
  });
}

/** Opens a read-only connection. */
export function openReader(path: string, options: StoreConnectionOptions): DatabaseSync {
  const db = openConnection(path, options);
  // No memory mapping: truncating a mapped file kills the process instead of causing an error.
  db.exec("PRAGMA query_only = ON");
  return db;
}
