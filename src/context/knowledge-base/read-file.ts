/**
 * The bytes of a file and what tells whether it has changed. Only what is a file is read, never more than the limit, and
 * nobody waits for what may never come.
 */
import { constants } from "node:fs";
import { type FileHandle, open } from "node:fs/promises";
import { LoomError } from "../../protocol/index.ts";

export interface FileState {
  readonly size: number;
  readonly modifiedAt: number;
  /** Another one where the file may be another. */
  readonly stamp: string;
}

const PIECE_BYTES = 1024 * 1024;

/** To be closed by the caller. A pipe opens at once too, and is then refused. */
export function openFile(path: string): Promise<FileHandle> {
  // Windows has no such flag.
  return open(path, constants.O_RDONLY | (constants.O_NONBLOCK ?? 0));
}

/** Throws `unreadable_document` for what is no file. */
export async function readState(file: FileHandle): Promise<FileState> {
  const found = await file.stat();
  if (!found.isFile())
    throw new LoomError("unreadable_document", "The file cannot be read: it is a pipe, a device or a socket.");
  const { size, mtimeMs, ctimeMs, ino } = found;
  return { size, modifiedAt: mtimeMs, stamp: `${mtimeMs} ${ctimeMs} ${ino}` };
}

/** Throws `document_too_large`, and the reason of the signal. */
export async function readBytes(
  file: FileHandle,
  size: number,
  limit: number,
  signal: AbortSignal | undefined,
): Promise<Uint8Array> {
  if (size > limit) throw refuse(size, limit);
  const pieces: Buffer[] = [];
  let length = 0;
  for (;;) {
    signal?.throwIfAborted();
    // One byte more than there should be: it may have grown.
    const piece = Buffer.allocUnsafe(Math.min(PIECE_BYTES, Math.max(size - length, 0) + 1, limit - length + 1));
    const { bytesRead } = await file.read(piece, 0, piece.length);
    if (bytesRead === 0) return Buffer.concat(pieces, length);
    length += bytesRead;
    if (length > limit) throw refuse(length, limit);
    pieces.push(piece.subarray(0, bytesRead));
  }
}

function refuse(bytes: number, limit: number): LoomError {
  return new LoomError("document_too_large", `The file has ${bytes} bytes or more; ${limit} are allowed.`, {
    bytes,
    limit,
  });
}
