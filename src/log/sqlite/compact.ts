/**
 * Moves the records of `recent` to `chunks`: all of them, in one transaction, so that nobody ever sees a record twice or
 * not at all. What is recent stays few, and what is old lies together.
 */
import { Buffer } from "node:buffer";
import type { DatabaseSync } from "node:sqlite";
import { LoomError } from "../../protocol/loom-error.ts";
import { prepareAll, type Statements } from "./connection.ts";
import { checksumOf } from "./records.ts";
import { sealOf } from "./session-rows.ts";

/** Rows, and roughly bytes, of `recent` after which it is emptied. */
const MAX_RECENT = 1024;
const MAX_RECENT_LENGTH = 4 * 1024 * 1024;
/** What a chunk holds at most, unless a single record has more. */
const MAX_CHUNK_BYTES = 64 * 1024;
const MAX_CHUNK_RECORDS = 512;

const STATEMENTS = {
  // Emptied as a whole, the table counts its rows from 1 again.
  size: "SELECT coalesce(max(pk), 0) AS rows FROM recent",
  rows: "SELECT session, id, pos, crc, text FROM recent ORDER BY session, id",
  insert: "INSERT INTO chunks (session, first_id, last_id, pos, crc, text) VALUES (?, ?, ?, ?, ?, ?)",
  extend: "INSERT OR REPLACE INTO extents (session, last_id, pos, seal) VALUES (?, ?, ?, ?)",
  empty: "DELETE FROM recent",
} as const;

interface Row {
  readonly session: number;
  readonly id: number;
  readonly pos: number;
  readonly crc: number;
  readonly text: string;
}

export class Compactor {
  readonly #sql: Statements<typeof STATEMENTS>;
  /** Of texts written since `recent` was empty, as far as this process knows. */
  #length = 0;

  constructor(db: DatabaseSync) {
    this.#sql = prepareAll(db, STATEMENTS);
  }

  note(length: number): void {
    this.#length += length;
  }

  /** Another process may have emptied it meanwhile; then there is little to do. */
  isDue(): boolean {
    const { rows } = this.#sql.size.get() as { rows: number };
    return rows >= MAX_RECENT || this.#length >= MAX_RECENT_LENGTH;
  }

  run(): void {
    let chunk: Row[] = [];
    let bytes = 0;
    for (const row of this.#sql.rows.all() as unknown as Row[]) {
      // A damaged text must not be given a checksum that says it is sound.
      if (checksumOf(row.session, row.id, row.text) !== row.crc)
        throw new LoomError("store_corrupt", `record ${row.id} of session number ${row.session} is damaged`);
      const size = Buffer.byteLength(row.text);
      const last = chunk.at(-1);
      const isFull = chunk.length >= MAX_CHUNK_RECORDS || bytes + size > MAX_CHUNK_BYTES;
      if (last !== undefined && (isFull || last.session !== row.session || last.id + 1 !== row.id)) {
        this.#write(chunk);
        chunk = [];
        bytes = 0;
      }
      chunk.push(row);
      bytes += size;
    }
    this.#write(chunk);
    this.#sql.empty.run();
    this.#length = 0;
  }

  #write(chunk: readonly Row[]): void {
    const first = chunk[0];
    const last = chunk.at(-1);
    if (first === undefined || last === undefined) return;
    const text = chunk.map((row) => row.text).join("\n");
    const crc = checksumOf(first.session, first.id, text);
    this.#sql.insert.run(first.session, first.id, last.id, last.pos, crc, text);
    this.#sql.extend.run(last.session, last.id, last.pos, sealOf([last.session, last.id, last.pos]));
  }
}
