/**
 * Reads a part of an open text file, by lines or by bytes. It reads only what it returns, except to find a line by its
 * number.
 */
import { Buffer } from "node:buffer";
import type { FileHandle } from "node:fs/promises";
import { LoomError } from "../../protocol/index.ts";

const CHUNK_BYTES = 64 * 1024;
/** Bytes examined to detect binary data. */
const SNIFF_BYTES = 4096;
const LINE_FEED = 0x0a;
/** Longest UTF-8 character. A smaller limit could return nothing, and reading would never advance. */
const MAX_CHARACTER_BYTES = 4;

export interface ReadRange {
  /** First byte to return. */
  readonly offset?: number | undefined;
  /** First line to return, counted from 1. Alternative to `offset`. */
  readonly fromLine?: number | undefined;
  readonly lines?: number | undefined;
  readonly maxBytes: number;
  /** Maximum bytes scanned to find `fromLine`. */
  readonly maxScanBytes: number;
  readonly signal?: AbortSignal | undefined;
}

export interface TextSlice {
  readonly text: string;
  readonly offset: number;
  /** Offset of the next part, or undefined at the end of the file. */
  readonly nextOffset: number | undefined;
  readonly size: number;
}

/** Throws `tool_failed` if the file is not valid UTF-8, because writing the decoded text back would destroy it. */
export async function readText(file: FileHandle, range: ReadRange): Promise<TextSlice> {
  const { size } = await file.stat();
  const first = range.fromLine === undefined ? (range.offset ?? 0) : await findLine(file, range.fromLine, range);
  const offset = range.offset === undefined ? first : first + (await countContinuationBytes(file, first));
  const maxBytes = Math.max(MAX_CHARACTER_BYTES, range.maxBytes);
  const chunks: Buffer[] = [];
  let bytes = 0;
  let lines = 0;
  let isCut = false;
  while (!isCut) {
    range.signal?.throwIfAborted();
    const chunk = await readChunk(file, offset + bytes, Math.min(CHUNK_BYTES, maxBytes - bytes + 1));
    if (chunk.length === 0) break;
    if (bytes === 0 && chunk.subarray(0, SNIFF_BYTES).includes(0)) throw notText();
    let end = Math.min(chunk.length, maxBytes - bytes);
    isCut = end < chunk.length;
    for (let at = chunk.indexOf(LINE_FEED); range.lines !== undefined && at >= 0 && at < end;) {
      lines += 1;
      if (lines === range.lines) {
        end = at + 1;
        isCut = true;
      } else at = chunk.indexOf(LINE_FEED, at + 1);
    }
    chunks.push(chunk.subarray(0, end));
    bytes += end;
  }
  let whole = Buffer.concat(chunks);
  if (isCut) whole = whole.subarray(0, whole.length - countIncompleteBytes(whole));
  const next = offset + whole.length;
  const nextOffset = isCut && whole.length > 0 && next < size ? next : undefined;
  return { text: decode(whole), offset, nextOffset, size };
}

function decode(bytes: Buffer): string {
  try {
    // A byte order mark is part of the file.
    return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    throw notText();
  }
}

/** Counts the bytes that belong to the previous character if the offset is inside one. */
async function countContinuationBytes(file: FileHandle, offset: number): Promise<number> {
  if (offset === 0) return 0;
  const chunk = await readChunk(file, offset, MAX_CHARACTER_BYTES - 1);
  const rest = chunk.findIndex((byte) => byte < 0x80 || byte >= 0xc0);
  return rest < 0 ? chunk.length : rest;
}

/** Counts the bytes at the end that belong to an incomplete character. */
function countIncompleteBytes(bytes: Buffer): number {
  for (let back = 1; back <= Math.min(3, bytes.length); back += 1) {
    const byte = bytes[bytes.length - back] ?? 0;
    if (byte < 0x80) return 0;
    if (byte >= 0xc0) {
      const length = byte >= 0xf0 ? 4 : byte >= 0xe0 ? 3 : 2;
      return length > back ? back : 0;
    }
  }
  return 0;
}

async function findLine(file: FileHandle, line: number, { maxScanBytes, signal }: ReadRange): Promise<number> {
  let position = 0;
  for (let left = line - 1; left > 0;) {
    signal?.throwIfAborted();
    const chunk = await readChunk(file, position, CHUNK_BYTES);
    if (chunk.length === 0) throw new LoomError("tool_failed", `The file has fewer than ${line} lines`);
    let at = -1;
    do {
      at = chunk.indexOf(LINE_FEED, at + 1);
      if (at >= 0) left -= 1;
    } while (at >= 0 && left > 0);
    position += at < 0 ? chunk.length : at + 1;
    if (position > maxScanBytes)
      throw new LoomError("tool_failed", `Line ${line} is too far into the file; pass a byte offset instead`);
  }
  return position;
}

async function readChunk(file: FileHandle, position: number, length: number): Promise<Buffer> {
  const buffer = Buffer.allocUnsafe(length);
  const { bytesRead } = await file.read(buffer, 0, length, position);
  return buffer.subarray(0, bytesRead);
}

function notText(): LoomError {
  return new LoomError("tool_failed", "The file is not UTF-8 text");
}
