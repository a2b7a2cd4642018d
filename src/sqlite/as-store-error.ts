/** Translates errors of SQLite and the file system to LoomErrors. LoomErrors pass through unchanged. */
import { accessSync, constants, statSync } from "node:fs";
import { dirname } from "node:path";
import type { ErrorCode } from "../protocol/index.ts";
import { LoomError } from "../protocol/loom-error.ts";

/** Primary result codes of SQLite; an extended code has its primary code in the low byte. */
const CODES: { readonly [primary: number]: readonly [code: ErrorCode, about: string] } = {
  5: ["store_busy", "Another process is writing the store; timed out waiting for it"],
  6: ["store_busy", "Another process is writing the store; timed out waiting for it"],
  8: ["store_read_only", "The store is not writable"],
  10: ["store_failed", "Disk I/O failed"],
  11: ["store_corrupt", "The store is damaged"],
  13: ["store_full", "The disk is full, or the store has reached its size limit"],
  14: ["store_failed", "The store cannot be opened"],
  26: ["store_corrupt", "The file is not a store"],
};

/** Error codes of the file system. */
const SYSTEM_CODES: { readonly [code: string]: readonly [code: ErrorCode, about: string] } = {
  EACCES: ["store_read_only", "The store is not writable"],
  EPERM: ["store_read_only", "The store is not writable"],
  EROFS: ["store_read_only", "The store is not writable"],
  ENOSPC: ["store_full", "The disk is full"],
  EDQUOT: ["store_full", "The disk quota is exceeded"],
};

export function asStoreError(error: unknown, path: string): LoomError {
  if (error instanceof LoomError) return error;
  const { errcode, code: name, message } = error as { errcode?: number; code?: string; message?: string };
  const known = SYSTEM_CODES[name ?? ""] ?? CODES[(errcode ?? 0) & 0xff];
  const isUnopened = ((errcode ?? 0) & 0xff) === 14;
  if (isUnopened && isFolder(path)) return new LoomError("store_failed", "The store is a folder", { path });
  const isReadOnly = isUnopened && !isWritable(dirname(path));
  const [code, about] = (isReadOnly ? CODES[8] : known) ?? ["store_failed", "The store failed"];
  return new LoomError(code, `${about}: ${message ?? String(error)}`, { path }, { cause: error });
}

function isFolder(path: string): boolean {
  return statSync(path, { throwIfNoEntry: false })?.isDirectory() ?? false;
}

/** Whether this process may write the file. SQLite does not report why it cannot open one. */
export function isWritable(path: string): boolean {
  try {
    accessSync(path, constants.W_OK);
    return true;
  } catch {
    return false;
  }
}
