/**
 * Caches the head of each session: what an append needs to know. The cache is cleared when another connection has
 * written to the store.
 */
import type { DatabaseSync, StatementSync } from "node:sqlite";
import { BoundedMap } from "../../protocol/bounded-map.ts";
import { assertSession } from "../rules.ts";
import type { StoredSession } from "./session-rows.ts";
import type { StoreRows } from "./store-rows.ts";

export interface Head {
  readonly key: number;
  /** The stored row; changed only by `Heads.save`. */
  row: StoredSession;
  lastId: number;
  /** Size of the session in bytes, up to and including its last record. */
  pos: number;
}

const MAX_HEADS = 10_000;

/** The `firstId` of a session without its records. After the highest record ID there is no safe integer. */
export function idAfter({ lastId }: Head): number {
  return Math.min(lastId + 1, Number.MAX_SAFE_INTEGER);
}

export class Heads {
  readonly #rows: StoreRows;
  readonly #heads = new BoundedMap<Head>(MAX_HEADS);
  readonly #version: StatementSync;
  #dataVersion: unknown;

  constructor(db: DatabaseSync, rows: StoreRows) {
    this.#version = db.prepare("PRAGMA data_version");
    this.#rows = rows;
  }

  /** Call at the start of every transaction. Returns whether another connection has written since the last one. */
  refresh(): boolean {
    const version = Object.values(this.#version.get() ?? {})[0];
    const isChanged = version !== this.#dataVersion;
    if (isChanged) this.#heads.clear();
    this.#dataVersion = version;
    return isChanged;
  }

  /** Clears the cache after a rollback. */
  clear(): void {
    this.#heads.clear();
  }

  find(sessionId: string): Head | undefined {
    const known = this.#heads.get(sessionId);
    if (known !== undefined) return known;
    const row = this.#rows.sessions.find(sessionId);
    if (row === undefined) return undefined;
    const head = this.open(row);
    this.#heads.set(sessionId, head);
    return head;
  }

  /** Returns the head of a session or draft without keeping it. */
  open(row: StoredSession): Head {
    const last = this.#rows.records.findLast(row);
    return { key: row.key, row, lastId: last.id, pos: last.pos };
  }

  get(sessionId: string): Head {
    return assertSession(this.find(sessionId), sessionId);
  }

  save(head: Head, changes: Partial<StoredSession>): void {
    head.row = { ...head.row, ...changes };
    this.#rows.sessions.save(head.row);
  }

  forget(sessionId: string): void {
    this.#heads.delete(sessionId);
  }
}
