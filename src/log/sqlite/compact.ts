/**
 * Moves the records of `recent` to `chunks`: all of them, in one transaction, so that nobody ever sees a record twice or
 * not at all. What is recent stays few, and what is old lies together.
 */
import { Buffer } from "node:buffer";
import type { DatabaseSync } from "node:sqlite";
import { LoomError } from "../../protocol/loom-error.ts";
import { prepareAll, type Statements } from "./connection.ts";
import { asChunk, checksumOf, type Chunk, isSound, type RecentRow } from "./records.ts";
import { sealOf } from "./seal.ts";

/** Roughly bytes of `recent` after which it is emptied, however few its rows. */
const MAX_RECENT_LENGTH = 4 * 1024 * 1024;
/** What a chunk holds at most, unless a single record has more. */
const MAX_CHUNK_BYTES = 64 * 1024;
const MAX_CHUNK_RECORDS = 512;

const STATEMENTS = {
  // Emptied as a whole, the table counts its rows from 1 again.
  size: "SELECT coalesce(max(pk), 0) AS rows FROM recent",
  rows: "SELECT session, id AS lastId, pos, crc, text FROM recent ORDER BY session, id",
  insert: "INSERT INTO chunks (session, first_id, last_id, pos, crc, text) VALUES (?, ?, ?, ?, ?, ?)",
  extend: "INSERT OR REPLACE INTO extents (session, last_id, pos, seal) VALUES (?, ?, ?, ?)",
  empty: "DELETE FROM recent",
} as const;

interface Row extends Chunk {
  readonly session: number;
}

export class Compactor {
  readonly #sql: Statements<typeof STATEMENTS>;
  readonly #maxRows: number;
  /** Of texts written since `recent` was empty, as far as this process knows; and how many they are. */
  #length = 0;
  #records = 0;
  /** Records after which it is to be emptied, or rows, where others wrote them. */
  #due: number;
  /** What `recent` holds, by session, if this process alone has written it since it was empty: saves reading it back. */
  #known: Map<number, Row[]> | undefined;

  constructor(db: DatabaseSync, maxRows: number) {
    this.#sql = prepareAll(db, STATEMENTS);
    this.#maxRows = maxRows;
    this.#due = maxRows;
  }

  note(row: Row): void {
    this.#length += row.text.length;
    this.#records += row.lastId - row.firstId + 1;
    const rows = this.#known?.get(row.session);
    if (rows !== undefined) rows.push(row);
    else this.#known?.set(row.session, [row]);
  }

  /** Somebody else has written, or a transaction was undone. */
  forget(): void {
    this.#known = undefined;
  }

  /** Another process may have emptied it meanwhile; then there is little to do. */
  isDue(): boolean {
    const { rows } = this.#sql.size.get() as { rows: number };
    return (
      rows >= this.#due ||
      this.#records >= this.#due ||
      (this.#length >= MAX_RECENT_LENGTH && this.#due === this.#maxRows)
    );
  }

  /** Empties `recent`. Throws where a row of it is damaged: it is tried again when there is twice as much to move. */
  run(): void {
    this.#due *= 2;
    for (const rows of (this.#known ?? this.#read()).values()) this.#move(rows);
    this.#sql.empty.run();
    this.#due = this.#maxRows;
    this.#length = 0;
    this.#records = 0;
    this.#known = new Map();
  }

  #read(): Map<number, Row[]> {
    const stored = this.#sql.rows.all() as unknown as (RecentRow & { session: number })[];
    const rows = stored.map((row): Row => ({ session: row.session, ...asChunk(row) }));
    // A damaged text must not be given a checksum that says it is sound.
    for (const row of rows)
      if (!isSound(row.session, row))
        throw new LoomError("store_corrupt", `record ${row.lastId} of session number ${row.session} is damaged`);
    return Map.groupBy(rows, ({ session }) => session);
  }

  /** The records of one session, in as few chunks as they fit. */
  #move(rows: readonly Row[]): void {
    let chunk: Row[] = [];
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

  #write(chunk: readonly Row[]): void {
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
