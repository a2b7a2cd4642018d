/**
 * What SQLite says when it cannot go on, in our codes. Errors of our own pass through as they are.
 */
import { accessSync, constants } from "node:fs";
import { dirname } from "node:path";
import type { ErrorCode, JsonObject } from "../../protocol/index.ts";
import { LoomError } from "../../protocol/loom-error.ts";

/** Primary result codes of SQLite; an extended code holds its primary one in the low byte. */
const CODES: { readonly [primary: number]: readonly [code: ErrorCode, about: string] } = {
  5: ["store_busy", "the store is being written by somebody else for too long"],
  6: ["store_busy", "the store is being written by somebody else for too long"],
  8: ["store_read_only", "the store cannot be written"],
  10: ["store_failed", "the disk failed"],
  11: ["store_corrupt", "the store is damaged"],
  13: ["store_full", "the disk, or the space the store may use, is full"],
  14: ["store_failed", "the store cannot be opened"],
  26: ["store_corrupt", "the file is not a store"],
};

/** The same for what the system says of files. */
const SYSTEM_CODES: { readonly [code: string]: readonly [code: ErrorCode, about: string] } = {
  EACCES: ["store_read_only", "the store cannot be written"],
  EPERM: ["store_read_only", "the store cannot be written"],
  EROFS: ["store_read_only", "the store cannot be written"],
  ENOSPC: ["store_full", "the disk is full"],
  EDQUOT: ["store_full", "the space the store may use is full"],
};

export function asStoreError(error: unknown, path: string): LoomError {
  if (error instanceof LoomError) return error;
  const { errcode, code: name, message } = error as { errcode?: number; code?: string; message?: string };
  const known = SYSTEM_CODES[name ?? ""] ?? CODES[(errcode ?? 0) & 0xff];
  const isUnopened = ((errcode ?? 0) & 0xff) === 14 && !isWritable(dirname(path));
  const [code, about] = (isUnopened ? CODES[8] : known) ?? ["store_failed", "the store failed"];
  return new LoomError(code, `${about}: ${message ?? String(error)}`, { path }, { cause: error });
}

/** Whether this process may write it. SQLite does not say why it cannot open a file. */
export function isWritable(path: string): boolean {
  try {
    accessSync(path, constants.W_OK);
    return true;
  } catch {
    return false;
  }
}

/** An error as it crosses from one thread to another. */
export interface PlainError {
  readonly code: ErrorCode;
  readonly message: string;
  readonly details: JsonObject;
}

export function toPlainError({ code, message, details }: LoomError): PlainError {
  return { code, message, details };
}

export function fromPlainError({ code, message, details }: PlainError): LoomError {
  return new LoomError(code, message, details);
}
