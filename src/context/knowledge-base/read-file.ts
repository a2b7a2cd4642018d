/**
 * Reads a regular file up to a size limit and the state that shows whether it changed. Never waits for a pipe or
 * device.
 */
import { constants } from "node:fs";
import { type FileHandle, open } from "node:fs/promises";
import { LoomError } from "../../protocol/index.ts";

export interface FileState {
  readonly size: number;
  readonly modifiedAt: number;
  /** Changes if the file may have changed. */
  readonly stamp: string;
}

const PIECE_BYTES = 1024 * 1024;

/** Opens a file; the caller closes it. A pipe opens without waiting and is rejected by `readState`. */
export function openFile(path: string): Promise<FileHandle> {
  // Windows does not have this flag.
  return open(path, constants.O_RDONLY | (constants.O_NONBLOCK ?? 0));
}

/** Throws `unreadable_document` if it is not a regular file. */
export async function readState(file: FileHandle): Promise<FileState> {
  const found = await file.stat();
  if (!found.isFile())
    throw new LoomError("unreadable_document", "The file cannot be read: it is a pipe, a device or a socket");
  const { size, mtimeMs, ctimeMs, ino } = found;
  return { size, modifiedAt: mtimeMs, stamp: `${mtimeMs} ${ctimeMs} ${ino}` };
}

/** Throws `document_too_large`, or the reason of the signal. */
export async function readBytes(
  file: FileHandle,
  size: number,
  limit: number,
  signal: AbortSignal | undefined,
): Promise<Uint8Array> {
  if (size > limit) throw createTooLargeError(size, limit);
  const pieces: Buffer[] = [];
  let length = 0;
  for (;;) {
    signal?.throwIfAborted();
    // Ask for one byte more than expected, because the file may have grown.
    const piece = Buffer.allocUnsafe(Math.min(PIECE_BYTES, Math.max(size - length, 0) + 1, limit - length + 1));
    const { bytesRead } = await file.read(piece, 0, piece.length);
    if (bytesRead === 0) return Buffer.concat(pieces, length);
    length += bytesRead;
    if (length > limit) throw createTooLargeError(length, limit);
    pieces.push(piece.subarray(0, bytesRead));
  }
}

function createTooLargeError(bytes: number, limit: number): LoomError {
  return new LoomError("document_too_large", `The file has at least ${bytes} bytes; the limit is ${limit} bytes`, {
    bytes,
    limit,
  });
}
