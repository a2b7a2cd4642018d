/**
 * Checks of the write-ahead log (`-wal`) of a SQLite file and of its index (`-shm`). SQLite does not notice that one of
 * these files was deleted or belongs to another database.
 */
import { chmodSync, closeSync, fdatasyncSync, openSync, statSync } from "node:fs";
import { LoomError } from "../protocol/loom-error.ts";
import { isWritable } from "./as-store-error.ts";
import { identifyFile } from "./file-identity.ts";

/** The start of a message. The error crosses threads as plain data, so `isWalLost` recognizes it by this text. */
const LOST_WAL = "The write-ahead log of the store was deleted or replaced";

/**
 * Throws `store_corrupt` if the write-ahead log was deleted. After a crash, the latest commits are only in the log, and
 * SQLite treats a missing log as empty. SQLite creates the log before its index (`-shm`) and deletes it after, so an
 * index without a log means that the log was deleted. If both files are missing, `assertCommits` finds the loss.
 */
export function assertWalPresent(path: string, name: string): void {
  const exists = (file: string): boolean => statSync(file, { throwIfNoEntry: false }) !== undefined;
  // Another process may have closed the database between the two looks. The next look then finds no index either, so no
  // pause is needed; a few attempts are, because the database may be opened and closed again.
  for (let attempt = 0; attempt < 5; attempt++) if (!exists(`${path}-shm`) || exists(`${path}-wal`)) return;
  throw new LoomError(
    "store_corrupt",
    `The write-ahead log of the ${name} is missing, and with it the latest changes: restore ${path}-wal, or delete` +
      ` ${path}-shm to continue without them`,
    { path },
  );
}

/**
 * Throws `store_corrupt` if the file is missing and its write-ahead log is not. SQLite would apply the log to a new file.
 */
export function assertNoStrayWal(path: string, name: string): void {
  if (statSync(`${path}-wal`, { throwIfNoEntry: false }) === undefined) return;
  // Another process may have just created the file.
  if (statSync(path, { throwIfNoEntry: false }) !== undefined) return;
  throw new LoomError(
    "store_corrupt",
    `The file of the ${name} is missing, but its write-ahead log exists: restore ${path}, or delete ${path}-wal`,
    { path },
  );
}

/**
 * Returns a function that throws `store_failed` once the write-ahead log is not the file that it is now. Call it while a
 * connection has the log open: SQLite then keeps the file, so that only others can have deleted or replaced it.
 */
export function createWalCheck(path: string): () => void {
  const log = identifyFile(`${path}-wal`);
  return () => {
    // Without a log at the start, it was deleted before this look at it.
    if (log !== undefined && identifyFile(`${path}-wal`) === log) return;
    throw new LoomError(
      "store_failed",
      `${LOST_WAL}: ${path}-wal; stop every process that uses the store, then start again`,
      { path },
    );
  };
}

/** Whether `createWalCheck` found that the write-ahead log is not the one that was opened. */
export function isWalLost(error: unknown): boolean {
  return error instanceof LoomError && error.code === "store_failed" && error.message.startsWith(LOST_WAL);
}

/**
 * Makes the write-ahead log writable if the file is. SQLite creates a read-only log while the file is read-only, and
 * leaves it behind.
 */
export function makeWalWritable(path: string): void {
  if (!isWritable(path)) return;
  const { mode } = statSync(path);
  for (const file of [`${path}-wal`, `${path}-shm`]) {
    if (statSync(file, { throwIfNoEntry: false }) === undefined || isWritable(file)) continue;
    try {
      chmodSync(file, mode & 0o777);
    } catch (error) {
      // Another process has just closed the database and deleted the file.
      if ((error as NodeJS.ErrnoException).code !== "ENOENT") throw error;
    }
  }
}

/**
 * Syncs the write-ahead log. A killed process may have written commits to it without syncing them; they would become
 * visible before they are durable.
 */
export function syncWal(path: string): void {
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
