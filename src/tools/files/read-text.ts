/**
 * A part of a text file, by lines or by bytes. It reads no more than it gives, except to find a line by its number; both
 * have limits. It knows no path: it is handed an open file.
 */
import { Buffer } from "node:buffer";
import type { FileHandle } from "node:fs/promises";
import { LoomError } from "../../protocol/index.ts";

const CHUNK_BYTES = 64 * 1024;
/** What is looked at to tell text from other data. */
const SNIFF_BYTES = 4096;
const LINE_FEED = 0x0a;
/** Bytes a character may have: no part that is given has fewer, or going on would never get further. */
const MAX_CHARACTER_BYTES = 4;

export interface ReadRange {
  /** The first byte to give. */
  readonly offset?: number | undefined;
  /** The first line to give, from 1; instead of `offset`. */
  readonly fromLine?: number | undefined;
  readonly lines?: number | undefined;
  readonly maxBytes: number;
  /** Bytes that are read to find `fromLine`. */
  readonly maxScanBytes: number;
  readonly signal?: AbortSignal | undefined;
}

export interface TextPart {
  readonly text: string;
  readonly offset: number;
  /** Where to go on; undefined at the end of the file. */
  readonly nextOffset: number | undefined;
  readonly size: number;
}

/** Throws for what is no UTF-8: half-read, it would be destroyed by whoever writes it back. */
export async function readText(file: FileHandle, range: ReadRange): Promise<TextPart> {
  const { size } = await file.stat();
  const first = range.fromLine === undefined ? (range.offset ?? 0) : await findLine(file, range.fromLine, range);
  const offset = range.offset === undefined ? first : first + (await countRest(file, first));
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
  if (isCut) whole = whole.subarray(0, whole.length - countBroken(whole));
  const next = offset + whole.length;
  const nextOffset = isCut && whole.length > 0 && next < size ? next : undefined;
  return { text: decode(whole), offset, nextOffset, size };
}

function decode(bytes: Buffer): string {
  try {
    // A byte order mark is a part of the file.
    return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    throw notText();
  }
}

/** Bytes that belong to the character before, where an offset leads into the middle of one. */
async function countRest(file: FileHandle, offset: number): Promise<number> {
  if (offset === 0) return 0;
  const chunk = await readChunk(file, offset, MAX_CHARACTER_BYTES - 1);
  const rest = chunk.findIndex((byte) => byte < 0x80 || byte >= 0xc0);
  return rest < 0 ? chunk.length : rest;
}

/** Bytes at the end that begin a character and do not end it. */
function countBroken(bytes: Buffer): number {
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
    if (chunk.length === 0) throw new LoomError("tool_failed", `The file has fewer than ${line} lines.`);
    let at = -1;
    do {
      at = chunk.indexOf(LINE_FEED, at + 1);
      if (at >= 0) left -= 1;
    } while (at >= 0 && left > 0);
    position += at < 0 ? chunk.length : at + 1;
    if (position > maxScanBytes)
      throw new LoomError("tool_failed", `Line ${line} is too far into the file; give an offset in bytes instead.`);
  }
  return position;
}

async function readChunk(file: FileHandle, position: number, length: number): Promise<Buffer> {
  const buffer = Buffer.allocUnsafe(length);
  const { bytesRead } = await file.read(buffer, 0, length, position);
  return buffer.subarray(0, bytesRead);
}

function notText(): LoomError {
  return new LoomError("tool_failed", "The file is not a text file in UTF-8.");
}
