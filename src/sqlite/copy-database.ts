/** Copies a database that is in use: the copy has the state at one moment, however long it takes. */
import { backup, DatabaseSync } from "node:sqlite";
import { asStoreError } from "./as-store-error.ts";

/** Pages copied between two calls of `onProgress`. */
const PAGES_AT_ONCE = 4096;

/** The file `to` must not exist. Calls `onProgress` with the part that is copied, from 0 to 1. */
export async function copyDatabase(from: string, to: string, onProgress: (part: number) => void): Promise<void> {
  try {
    const source = new DatabaseSync(from, { timeout: 10_000 });
    try {
      // Without an open transaction, the copy would start again after every write of another process.
      source.exec("PRAGMA query_only = ON; BEGIN; SELECT count(*) FROM sqlite_schema");
      await backup(source, to, {
        rate: PAGES_AT_ONCE,
        progress: ({ totalPages, remainingPages }) => onProgress(1 - remainingPages / Math.max(1, totalPages)),
      });
    } finally {
      source.close();
    }
  } catch (error) {
    throw asStoreError(error, from);
  }
}
