/**
 * Reads and writes the rows of encoder snapshots. They are derived from the records: a damaged one is ignored, and any
 * may be deleted at any time.
 */
import type { DatabaseSync } from "node:sqlite";
import { crc32 } from "node:zlib";
import { prepareAll, type Statements } from "../../sqlite/database.ts";
import { sealOf } from "../../sqlite/seal.ts";
import type { EncoderSnapshot } from "../log.ts";
import { MAX_SNAPSHOTS } from "../rules.ts";

/** Snapshots that are read before giving up, if the latest ones are damaged. */
const MAX_DAMAGED = 4;

const STATEMENTS = {
  find: `SELECT event_id AS eventId, state, crc FROM snapshots WHERE session = ? AND key = ? AND event_id <= ?
    ORDER BY event_id DESC LIMIT ${MAX_DAMAGED}`,
  set: "INSERT OR REPLACE INTO snapshots (session, key, event_id, state, crc) VALUES (?, ?, ?, ?, ?)",
  trim: `DELETE FROM snapshots WHERE rowid IN (SELECT rowid FROM (
      SELECT rowid, sum(length(state)) OVER (ORDER BY rowid DESC) AS bytes, row_number() OVER (ORDER BY rowid DESC) AS place
      FROM snapshots WHERE session = ?) WHERE bytes > ? OR place > ${MAX_SNAPSHOTS})`,
  cut: "DELETE FROM snapshots WHERE session = ? AND event_id < ?",
} as const;

export class SnapshotRows {
  readonly #sql: Statements<typeof STATEMENTS>;

  constructor(db: DatabaseSync) {
    this.#sql = prepareAll(db, STATEMENTS);
  }

  /** Returns the latest undamaged snapshot with this key at or before record `id`. */
  find(session: number, key: string, id: number): EncoderSnapshot | undefined {
    for (const row of this.#sql.find.iterate(session, key, id) as Iterable<unknown>) {
      const { eventId, state, crc } = row as {
        readonly eventId: number;
        readonly state: unknown;
        readonly crc: number;
      };
      if (!(state instanceof Uint8Array)) continue;
      const snapshot = { key, eventId, state };
      if (checksumOf(session, snapshot) === crc) return snapshot;
    }
    return undefined;
  }

  /** Stores a snapshot, and deletes the oldest of the session beyond `maxBytes`. */
  save(session: number, snapshot: EncoderSnapshot, maxBytes: number): void {
    const { key, eventId, state } = snapshot;
    this.#sql.set.run(session, key, eventId, state, checksumOf(session, snapshot));
    this.#sql.trim.run(session, maxBytes);
  }

  /** Deletes the snapshots before a record. */
  cut(session: number, firstId: number): void {
    this.#sql.cut.run(session, firstId);
  }
}

/** Checksum of a snapshot and its position. */
function checksumOf(session: number, { key, eventId, state }: EncoderSnapshot): number {
  return crc32(state, sealOf([session, key, eventId]) >>> 0);
}
