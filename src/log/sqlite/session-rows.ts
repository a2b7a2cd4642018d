/**
 * The rows of sessions. A row carries a seal, a checksum of its values, like everything in a store that is not a record:
 * SQLite would not notice a bit that changed on disk.
 */
import type { DatabaseSync } from "node:sqlite";
import { LoomError } from "../../protocol/loom-error.ts";
import { LOCAL_OWNER } from "../rules.ts";
import { prepareAll, type Statements } from "./connection.ts";
import { assertSeal, sealOf } from "./seal.ts";

export interface SessionRow {
  readonly key: number;
  /** Null once it is deleted. */
  readonly sessionId: string | null;
  readonly incarnation: string;
  readonly title: string | null;
  readonly createdAt: number;
  readonly owner: string;
  readonly updatedAt: number;
  readonly firstId: number;
  /** Bytes that lie before `firstId`. */
  readonly basePos: number;
  readonly epoch: number;
  readonly holder: string | null;
  readonly expiresAt: number;
}

type SealedSession = SessionRow & { readonly seal: number };

const COLUMNS = `key, session_id AS sessionId, incarnation, title, created_at AS createdAt, owner, updated_at AS updatedAt,
  first_id AS firstId, base_pos AS basePos, epoch, holder, expires_at AS expiresAt, seal`;

const STATEMENTS = {
  find: `SELECT ${COLUMNS} FROM sessions WHERE session_id = ?`,
  findByKey: `SELECT ${COLUMNS} FROM sessions WHERE key = ?`,
  list: `SELECT ${COLUMNS} FROM sessions WHERE session_id IS NOT NULL AND key < ? ORDER BY key DESC LIMIT ?`,
  listOwned: `SELECT ${COLUMNS} FROM sessions INDEXED BY sessions_by_owner
    WHERE session_id IS NOT NULL AND owner = ? AND key < ? ORDER BY key DESC LIMIT ?`,
  latestOwned: `SELECT key FROM sessions INDEXED BY sessions_by_owner
    WHERE session_id IS NOT NULL AND owner = ? AND key < ? ORDER BY key DESC LIMIT 1`,
  nextKey: "SELECT coalesce((SELECT seq FROM sqlite_sequence WHERE name = 'sessions'), 0) + 1 AS key",
  insert: `INSERT INTO sessions (session_id, title, updated_at, first_id, base_pos, epoch, holder, expires_at, seal, key,
    incarnation, created_at, owner) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
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

  /** Those made before the one with this key, newest first; of one owner, or of everybody. */
  list(before: number, limit: number, owner?: string): readonly SessionRow[] {
    const { list, listOwned } = this.#sql;
    const rows = owner === undefined ? list.all(before, limit) : listOwned.all(owner, before, limit);
    return (rows as unknown as SealedSession[]).map((sealed) => {
      const row = prove(sealed);
      // The index has no seal. An owner that SQLite takes from there does not fit that of the row; one it takes from the
      // row may be another than was asked for.
      if (owner === undefined || row.owner === owner) return row;
      throw new LoomError("store_corrupt", "what the store says of who owns which session is damaged");
    });
  }

  /** The key of the latest session of an owner that was made before the one with this key. */
  findLatestOwned(owner: string, before: number): number | undefined {
    return (this.#sql.latestOwned.get(owner, before) as { key: number } | undefined)?.key;
  }

  create(fresh: Omit<SessionRow, "key">): SessionRow {
    const row = { ...fresh, key: (this.#sql.nextKey.get() as { key: number }).key };
    const { key, incarnation, createdAt, owner } = row;
    this.#sql.insert.run(...changeable(row), sealOf(valuesOf(row)), key, incarnation, createdAt, owner);
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

/** The owner that every older row has is not written out, so that its seal is still right; see `VERSION_5`. */
function valuesOf(row: SessionRow): (string | number | null)[] {
  const owner = row.owner === LOCAL_OWNER ? [] : [row.owner];
  return [row.key, row.incarnation, row.createdAt, ...changeable(row), ...owner];
}

function prove({ seal, ...row }: SealedSession): SessionRow {
  assertSeal(seal, valuesOf(row), `session "${row.sessionId ?? ""}"`);
  return row;
}

function isProven(row: SealedSession): boolean {
  return row.seal === sealOf(valuesOf(row));
}
