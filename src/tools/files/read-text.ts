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

export async function readText(file: FileHandle, range: ReadRange): Promise<TextPart> {
  const { size } = await file.stat();
  const offset = range.fromLine === undefined ? (range.offset ?? 0) : await findLine(file, range.fromLine, range);
  const chunks: Buffer[] = [];
  let bytes = 0;
  let lines = 0;
  let isCut = false;
  while (!isCut) {
    range.signal?.throwIfAborted();
    const chunk = await readChunk(file, offset + bytes, Math.min(CHUNK_BYTES, range.maxBytes - bytes + 1));
    if (chunk.length === 0) break;
    if (bytes === 0 && chunk.subarray(0, SNIFF_BYTES).includes(0)) throw notText();
    let end = Math.min(chunk.length, range.maxBytes - bytes);
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
  return { text: new TextDecoder().decode(whole), offset, nextOffset, size };
}

/** Bytes at the end that begin a character and do not end it. */
function countBroken(bytes: Buffer): number {
  for (let back = 1; back <= Math.min(3, bytes.length); back += 1) {
    const byte = bytes[bytes.length - back] ?? 0;
    if (byte < 0x80) return 0;
    if (byte >= 0xc0) {
      const length = byte >= 0xf0 ? 4 : byte >= 0xe0 ? 3 : 2;
      // Where that would leave nothing, going on would never get further.
      return length > back && back < bytes.length ? back : 0;
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
  return new LoomError("tool_failed", "The file is not a text file.");
}
