/**
 * Moves all records from `recent` to `chunks` in one transaction, so that a reader sees each record exactly once.
 * `recent` stays small, and older records of a session are stored together.
 */
import { Buffer } from "node:buffer";
import type { DatabaseSync } from "node:sqlite";
import { LoomError } from "../../protocol/loom-error.ts";
import { prepareAll, type Statements } from "../../sqlite/database.ts";
import { sealOf } from "../../sqlite/seal.ts";
import { toChunk, checksumOf, type RecordChunk, hasValidChecksum, type RecentRow } from "./records.ts";

/** Approximate bytes in `recent` after which it is compacted, even if it has few rows. */
const MAX_RECENT_LENGTH = 4 * 1024 * 1024;
/** Maximum size of a chunk, unless a single record is larger. */
const MAX_CHUNK_BYTES = 64 * 1024;
const MAX_CHUNK_RECORDS = 512;

const STATEMENTS = {
  // Emptying the table restarts its keys at 1, so the largest key bounds the number of rows.
  size: "SELECT coalesce(max(pk), 0) AS rows FROM recent",
  rows: "SELECT session, id AS lastId, pos, crc, text FROM recent ORDER BY session, id",
  insert: "INSERT INTO chunks (session, first_id, last_id, pos, crc, text) VALUES (?, ?, ?, ?, ?, ?)",
  extend: "INSERT OR REPLACE INTO extents (session, last_id, pos, seal) VALUES (?, ?, ?, ?)",
  empty: "DELETE FROM recent",
} as const;

interface SessionChunk extends RecordChunk {
  readonly session: number;
}

export class Compactor {
  readonly #sql: Statements<typeof STATEMENTS>;
  readonly #maxRows: number;
  /** Characters and records written since `recent` was empty, as far as this process knows. */
  #length = 0;
  #records = 0;
  /** Number of records, or of rows written by any process, after which `recent` is compacted. */
  #due: number;
  /**
   * Contents of `recent` by session, if only this process has written it since it was empty. Avoids reading it back.
   */
  #known: Map<number, SessionChunk[]> | undefined;

  constructor(db: DatabaseSync, maxRows: number) {
    this.#sql = prepareAll(db, STATEMENTS);
    this.#maxRows = maxRows;
    this.#due = maxRows;
  }

  note(row: SessionChunk): void {
    this.#length += row.text.length;
    this.#records += row.lastId - row.firstId + 1;
    const rows = this.#known?.get(row.session);
    if (rows !== undefined) rows.push(row);
    else this.#known?.set(row.session, [row]);
  }

  /** Drops the remembered contents: another process has written, or a transaction was rolled back. */
  forget(): void {
    this.#known = undefined;
  }

  /** Counts the rows in the table too, because another process may have compacted it. */
  isDue(): boolean {
    const { rows } = this.#sql.size.get() as { rows: number };
    return (
      rows >= this.#due ||
      this.#records >= this.#due ||
      (this.#length >= MAX_RECENT_LENGTH && this.#due === this.#maxRows)
    );
  }

  /**
   * Compacts `recent`. Throws `store_corrupt` if a row is damaged; the next attempt is made when there is twice as much
   * to move.
   */
  run(): void {
    this.#due *= 2;
    for (const rows of (this.#known ?? this.#read()).values()) this.#move(rows);
    this.#sql.empty.run();
    this.#due = this.#maxRows;
    this.#length = 0;
    this.#records = 0;
    this.#known = new Map();
  }

  #read(): Map<number, SessionChunk[]> {
    const stored = this.#sql.rows.all() as unknown as (RecentRow & { session: number })[];
    const rows = stored.map((row): SessionChunk => ({ session: row.session, ...toChunk(row) }));
    // A new checksum must not make a damaged text look valid.
    for (const row of rows)
      if (!hasValidChecksum(row.session, row))
        throw new LoomError("store_corrupt", `Record ${row.lastId} of session number ${row.session} is damaged`);
    return Map.groupBy(rows, ({ session }) => session);
  }

  /** Writes the records of one session in as few chunks as possible. */
  #move(rows: readonly SessionChunk[]): void {
    let chunk: SessionChunk[] = [];
    let records = 0;
    let bytes = 0;
    for (const row of rows) {
      const size = Buffer.byteLength(row.text);
      const count = row.lastId - row.firstId + 1;
      const isFull = records + count > MAX_CHUNK_RECORDS || bytes + size > MAX_CHUNK_BYTES;
      const last = chunk.at(-1);
      if (last !== undefined && (isFull || last.lastId + 1 !== row.firstId)) {
        this.#write(chunk);
        chunk = [];
        records = 0;
        bytes = 0;
      }
      chunk.push(row);
      records += count;
      bytes += size;
    }
    this.#write(chunk);
  }

  #write(chunk: readonly SessionChunk[]): void {
    const first = chunk[0];
    const last = chunk.at(-1);
    if (first === undefined || last === undefined) return;
    const text = chunk.map((row) => row.text).join("\n");
    const { session, firstId } = first;
    const { lastId, pos } = last;
    this.#sql.insert.run(session, firstId, lastId, pos, checksumOf(session, firstId, lastId, pos, text), text);
    this.#sql.extend.run(session, lastId, pos, sealOf([session, lastId, pos]));
  }
}
