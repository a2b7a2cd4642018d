/**
 * The rows of sessions. A row carries a seal, a checksum of its values, like everything in a store that is not a record:
 * SQLite would not notice a bit that changed on disk.
 */
import type { DatabaseSync } from "node:sqlite";
import { LoomError } from "../../protocol/loom-error.ts";
import { prepareAll, type Statements } from "./connection.ts";
import { assertSeal, sealOf } from "./seal.ts";

export interface SessionRow {
  readonly key: number;
  /** Null once it is deleted. */
  readonly sessionId: string | null;
  readonly incarnation: string;
  readonly title: string | null;
  readonly createdAt: number;
  readonly updatedAt: number;
  readonly firstId: number;
  /** Bytes that lie before `firstId`. */
  readonly basePos: number;
  readonly epoch: number;
  readonly holder: string | null;
  readonly expiresAt: number;
}

type SealedSession = SessionRow & { readonly seal: number };

const COLUMNS = `key, session_id AS sessionId, incarnation, title, created_at AS createdAt, updated_at AS updatedAt,
  first_id AS firstId, base_pos AS basePos, epoch, holder, expires_at AS expiresAt, seal`;

const STATEMENTS = {
  find: `SELECT ${COLUMNS} FROM sessions WHERE session_id = ?`,
  findByKey: `SELECT ${COLUMNS} FROM sessions WHERE key = ?`,
  list: `SELECT ${COLUMNS} FROM sessions WHERE session_id IS NOT NULL AND key < ? ORDER BY key DESC LIMIT ?`,
  nextKey: "SELECT coalesce((SELECT seq FROM sqlite_sequence WHERE name = 'sessions'), 0) + 1 AS key",
  insert: `INSERT INTO sessions (session_id, title, updated_at, first_id, base_pos, epoch, holder, expires_at, seal, key,
    incarnation, created_at) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
  update: `UPDATE sessions SET session_id = ?, title = ?, updated_at = ?, first_id = ?, base_pos = ?, epoch = ?,
    holder = ?, expires_at = ?, seal = ? WHERE key = ?`,
  lastEpoch: "SELECT epoch, seal FROM buried",
  setLastEpoch: "UPDATE buried SET epoch = ?, seal = ?",
  unswept: `SELECT ${COLUMNS} FROM sessions WHERE unswept = 1`,
  markUnswept: "UPDATE sessions SET unswept = 1 WHERE key = ?",
} as const;

export class SessionRows {
  readonly #sql: Statements<typeof STATEMENTS>;

  constructor(db: DatabaseSync) {
    this.#sql = prepareAll(db, STATEMENTS);
  }

  find(sessionId: string): SessionRow | undefined {
    const row = this.#sql.find.get(sessionId) as SealedSession | undefined;
    return row === undefined ? undefined : prove(row);
  }

  findByKey(key: number): SessionRow | undefined {
    const row = this.#sql.findByKey.get(key) as SealedSession | undefined;
    return row === undefined ? undefined : prove(row);
  }

  /** Those made before the one with this key, newest first. */
  list(before: number, limit: number): readonly SessionRow[] {
    return (this.#sql.list.all(before, limit) as unknown as SealedSession[]).map(prove);
  }

  create(fresh: Omit<SessionRow, "key">): SessionRow {
    const row = { ...fresh, key: (this.#sql.nextKey.get() as { key: number }).key };
    this.#sql.insert.run(...changeable(row), sealOf(valuesOf(row)), row.key, row.incarnation, row.createdAt);
    return row;
  }

  save(row: SessionRow): void {
    this.#sql.update.run(...changeable(row), sealOf(valuesOf(row)), row.key);
  }

  /** The highest any deleted session had. */
  get lastEpoch(): number {
    const row = this.#sql.lastEpoch.get() as { epoch: number; seal: number } | undefined;
    if (row === undefined) throw new LoomError("store_corrupt", "the store has lost its last epoch");
    assertSeal(row.seal, [row.epoch], "its last epoch");
    return row.epoch;
  }

  set lastEpoch(epoch: number) {
    this.#sql.setLastEpoch.run(epoch, sealOf([epoch]));
  }

  /** Those that have rows nobody can read any more. What a damaged one says of that is not believed: it is left out. */
  listUnswept(limit: number): readonly SessionRow[] {
    const found: SessionRow[] = [];
    for (const row of this.#sql.unswept.iterate() as Iterable<unknown>) {
      if (isProven(row as SealedSession)) found.push(row as SealedSession);
      if (found.length >= limit) break;
    }
    return found;
  }

  /** It has rows nobody can read any more. */
  markUnswept({ key }: SessionRow): void {
    this.#sql.markUnswept.run(key);
  }
}

function changeable(row: SessionRow): (string | number | null)[] {
  const { sessionId, title, updatedAt, firstId, basePos, epoch, holder, expiresAt } = row;
  return [sessionId, title, updatedAt, firstId, basePos, epoch, holder, expiresAt];
}

function valuesOf(row: SessionRow): (string | number | null)[] {
  return [row.key, row.incarnation, row.createdAt, ...changeable(row)];
}

function prove({ seal, ...row }: SealedSession): SessionRow {
  assertSeal(seal, valuesOf(row), `session "${row.sessionId ?? ""}"`);
  return row;
}

function isProven(row: SealedSession): boolean {
  return row.seal === sealOf(valuesOf(row));
}
