/**
 * Where each session stands: what an append must know of it. Remembered between transactions, and forgotten when another
 * connection has written to the store in between.
 */
import type { DatabaseSync, StatementSync } from "node:sqlite";
import { BoundedMap } from "../../protocol/bounded-map.ts";
import { unknownSession } from "../rules.ts";
import type { Records } from "./records.ts";
import type { SessionRow, SessionRows } from "./session-rows.ts";

export interface Head {
  readonly key: number;
  /** As it is stored; changed by `Heads.save` alone. */
  row: SessionRow;
  lastId: number;
  /** Bytes of the session up to and with its last record. */
  pos: number;
  /** Runs that are in the index for certain. */
  readonly runs: Set<string>;
}

const MAX_HEADS = 10_000;

export class Heads {
  readonly #records: Records;
  readonly #rows: SessionRows;
  readonly #heads = new BoundedMap<Head>(MAX_HEADS);
  readonly #version: StatementSync;
  #dataVersion: unknown;

  constructor(db: DatabaseSync, rows: SessionRows, records: Records) {
    this.#version = db.prepare("PRAGMA data_version");
    this.#rows = rows;
    this.#records = records;
  }

  /** To be called at the start of every transaction. True when somebody else has written since the last. */
  refresh(): boolean {
    const version = Object.values(this.#version.get() ?? {})[0];
    const isChanged = version !== this.#dataVersion;
    if (isChanged) this.#heads.clear();
    this.#dataVersion = version;
    return isChanged;
  }

  /** What is remembered of a transaction that was rolled back is not so. */
  clear(): void {
    this.#heads.clear();
  }

  find(sessionId: string): Head | undefined {
    const known = this.#heads.get(sessionId);
    if (known !== undefined) return known;
    const row = this.#rows.find(sessionId);
    if (row === undefined) return undefined;
    const last = this.#records.findLast(row);
    const head: Head = { key: row.key, row, lastId: last.id, pos: last.pos, runs: new Set() };
    this.#heads.set(sessionId, head);
    return head;
  }

  get(sessionId: string): Head {
    const head = this.find(sessionId);
    if (head === undefined) throw unknownSession(sessionId);
    return head;
  }

  save(head: Head, changes: Partial<SessionRow>): void {
    head.row = { ...head.row, ...changes };
    this.#rows.save(head.row);
  }

  forget(sessionId: string): void {
    this.#heads.delete(sessionId);
  }
}
