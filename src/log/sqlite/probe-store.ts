/**
 * Checks that changes can be stored: room on the disk and in the file, and a commit. It runs in the writer thread. A
 * commit alone proves little, because a write-ahead log that was larger before is overwritten without taking space.
 */
import { Buffer } from "node:buffer";
import { closeSync, fdatasyncSync, openSync, rmSync, writeSync } from "node:fs";
import type { DatabaseSync } from "node:sqlite";
import { LoomError } from "../../protocol/loom-error.ts";
import { asStoreError } from "../../sqlite/as-store-error.ts";
import { readPragma } from "../../sqlite/database.ts";

/** Free space without which the store counts as full, on the disk in bytes and in the file in pages. */
const MIN_BYTES = 64 * 1024;
const MIN_PAGES = 16;

/** Changes nothing that can be read. Throws the error that a change would get. */
export function probeStore(db: DatabaseSync): void {
  const path = db.location() ?? "";
  const pagesLeft = readPragma(db, "max_page_count") - readPragma(db, "page_count") + readPragma(db, "freelist_count");
  if (pagesLeft < MIN_PAGES) throw new LoomError("store_full", "The store has reached its size limit", { path });
  try {
    writeScratch(`${path}-probe`);
  } catch (error) {
    throw asStoreError(error, path);
  }
  // Writes the first page, although the value stays the same.
  db.exec(`PRAGMA user_version = ${readPragma(db, "user_version")}`);
}

function writeScratch(path: string): void {
  try {
    const file = openSync(path, "w", 0o600);
    try {
      for (let left = MIN_BYTES; left > 0;) left -= writeSync(file, Buffer.alloc(left));
      fdatasyncSync(file);
    } finally {
      closeSync(file);
    }
  } finally {
    rmSync(path, { force: true });
  }
}
