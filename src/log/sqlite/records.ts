/**
 * Reads the texts of a session from `chunks` and then from `recent`. Used by the reader and the writer. Every text is
 * checked against its checksum.
 */
import { Buffer } from "node:buffer";
import type { DatabaseSync } from "node:sqlite";
import { crc32 } from "node:zlib";
import { LoomError } from "../../protocol/loom-error.ts";
import { prepareAll, type Statements } from "../../sqlite/database.ts";
import { assertSeal } from "../../sqlite/seal.ts";
import type { StoredSession } from "./session-rows.ts";

export interface RecordChunk {
  readonly firstId: number;
  readonly lastId: number;
  readonly pos: number;
  readonly crc: number;
  readonly text: string;
}

export type RecentRow = Omit<RecordChunk, "firstId">;

const STATEMENTS = {
  lastRecent: "SELECT id AS lastId, pos, crc, text FROM recent WHERE session = ? ORDER BY id DESC LIMIT 1",
  extent: "SELECT last_id AS id, pos, seal FROM extents WHERE session = ?",
  chunk: `SELECT first_id AS firstId, last_id AS lastId, pos, crc, text FROM chunks
    WHERE session = ? AND last_id >= ? ORDER BY last_id LIMIT 1`,
  recent: "SELECT id AS lastId, pos, crc, text FROM recent WHERE session = ? AND id >= ? ORDER BY id",
} as const;

export class Records {
  readonly #sql: Statements<typeof STATEMENTS>;

  constructor(db: DatabaseSync) {
    this.#sql = prepareAll(db, STATEMENTS);
  }

  /**
   * Returns the last record of a session and its size up to there. If no record is stored, returns the position before
   * the first.
   */
  findLast({ key, firstId, basePos }: StoredSession): { readonly id: number; readonly pos: number } {
    const last = this.#findRecent(key) ?? this.#findExtent(key);
    // Rows before the first ID are garbage: nothing was written since they were pruned. The base of a new session with
    // carried records is negative.
    return last !== undefined && last.id >= firstId ? last : { id: firstId - 1, pos: Math.max(0, basePos) };
  }

  #findRecent(session: number): { readonly id: number; readonly pos: number } | undefined {
    const row = this.#sql.lastRecent.get(session) as RecentRow | undefined;
    if (row === undefined) return undefined;
    if (!hasValidChecksum(session, toChunk(row))) throw damaged(session, row.lastId);
    return { id: row.lastId, pos: row.pos };
  }

  #findExtent(session: number): { readonly id: number; readonly pos: number } | undefined {
    const row = this.#sql.extent.get(session) as { id: number; pos: number; seal: number } | undefined;
    if (row !== undefined) assertSeal(row.seal, [session, row.id, row.pos], `session number ${session}`);
    return row;
  }

  /**
   * Reads up to `limit` texts after `after`, joined by line feeds, with at most `room` bytes unless the first text
   * alone is larger. The caller must know that there is at least one.
   */
  read(session: number, after: number, limit: number, room: number): { readonly text: string; readonly count: number } {
    const parts: string[] = [];
    let count = 0;
    let left = room;
    const take = (chunk: RecordChunk): boolean => {
      const part = takeLines(session, chunk, after + count + 1, limit - count, left, count === 0);
      if (part === undefined) return false;
      parts.push(part.text);
      count += part.count;
      left -= part.bytes;
      // If only part of a chunk was taken, the page is full.
      return after + count === chunk.lastId;
    };
    for (;;) {
      const chunk = this.#sql.chunk.get(session, after + count + 1) as RecordChunk | undefined;
      if (chunk === undefined) break;
      if (!take(chunk) || count >= limit) return { text: parts.join("\n"), count };
    }
    for (const row of this.#sql.recent.iterate(session, after + count + 1) as Iterable<unknown>)
      if (!take(toChunk(row as RecentRow)) || count >= limit) break;
    if (count === 0) throw damaged(session, after + 1);
    return { text: parts.length === 1 ? (parts[0] ?? "") : parts.join("\n"), count };
  }

  /** Returns the size of the session in bytes, up to and including record `id`. */
  findPosition(session: number, id: number): number {
    const chunk = this.#sql.chunk.get(session, id) as RecordChunk | undefined;
    const recent = chunk === undefined ? (this.#sql.recent.get(session, id) as RecentRow | undefined) : undefined;
    const row = recent === undefined ? chunk : toChunk(recent);
    if (row === undefined || row.firstId > id || !hasValidChecksum(session, row)) throw damaged(session, id);
    if (row.lastId === id) return row.pos;
    const rest = row.text.split("\n").slice(id - row.firstId + 1);
    return row.pos - rest.reduce((sum, text) => sum + Buffer.byteLength(text), 0);
  }
}

/** Returns the lines of a chunk from record `from` on that fit; undefined if none fits. */
function takeLines(
  session: number,
  chunk: RecordChunk,
  from: number,
  limit: number,
  room: number,
  atLeastOne: boolean,
): { readonly text: string; readonly count: number; readonly bytes: number } | undefined {
  const { firstId, lastId, text } = chunk;
  if (from < firstId || !hasValidChecksum(session, chunk)) throw damaged(session, from);
  const held = lastId - firstId + 1;
  // Line feeds between records do not count as bytes of records.
  const size = Buffer.byteLength(text) - (held - 1);
  if (from === firstId && held <= limit && size <= room) return { text, count: held, bytes: size };
  if (held === 1) return atLeastOne ? { text, count: 1, bytes: size } : undefined;
  const lines = text.split("\n");
  if (lines.length !== held) throw damaged(session, from);
  let bytes = 0;
  let end = from - firstId;
  for (; end < held && end - (from - firstId) < limit; end++) {
    const more = Buffer.byteLength(lines[end] ?? "");
    const isFirst = end === from - firstId && atLeastOne;
    if (bytes + more > room && !isFirst) break;
    bytes += more;
  }
  const count = end - (from - firstId);
  return count === 0 ? undefined : { text: lines.slice(from - firstId, end).join("\n"), count, bytes };
}

/** Converts a row of `recent`, which stores no first id: it has as many records as lines. */
export function toChunk({ lastId, pos, crc, text }: RecentRow): RecordChunk {
  let firstId = lastId;
  if (typeof text === "string") for (let at = text.indexOf("\n"); at !== -1; at = text.indexOf("\n", at + 1)) firstId--;
  return { firstId, lastId, pos, crc, text };
}

/** A text that became a blob with the same bytes has a matching checksum, but is not a text. */
export function hasValidChecksum(session: number, { firstId, lastId, pos, crc, text }: RecordChunk): boolean {
  return typeof text === "string" && checksumOf(session, firstId, lastId, pos, text) === crc;
}

/** Checksum of a text and its position: it changes if any of these values changes. */
export function checksumOf(session: number, firstId: number, lastId: number, pos: number, text: string): number {
  return crc32(text, mix(mix(mix(mix(0, session), firstId), lastId), pos) >>> 0);
}

/** Mixes in a number up to 2^53 in two halves: any change within one half changes the result. */
function mix(seed: number, value: number): number {
  const low = Math.imul(seed ^ value, 0x9e_37_79_b1);
  return Math.imul(low ^ Math.floor(value / 2 ** 32), 0x85_eb_ca_6b);
}

/** Only the key of the session is known here, not its ID. */
function damaged(session: number, id: number): LoomError {
  return new LoomError("store_corrupt", `The records of session number ${session} are damaged at record ${id}`, {
    session,
    event_id: id,
  });
}
