/** Reads and writes the rows of sessions. Each row has a seal, see `sqlite/seal.ts`. */
import type { DatabaseSync } from "node:sqlite";
import { LoomError } from "../../protocol/loom-error.ts";
import { prepareAll, type Statements } from "../../sqlite/database.ts";
import { assertSeal, sealOf } from "../../sqlite/seal.ts";
import type { CreateOptions } from "../log.ts";
import type { SessionRow } from "../stored-rows.ts";

export interface StoredSession extends SessionRow {
  /** 1 or 0. */
  readonly isPinned: number;
  readonly isArchived: number;
}

type SealedSession = StoredSession & { readonly seal: number };

const COLUMNS = `key, session_id AS sessionId, incarnation, title, created_at AS createdAt, owner, updated_at AS updatedAt,
  first_id AS firstId, base_pos AS basePos, epoch, holder, expires_at AS expiresAt,
  is_pinned AS isPinned, is_archived AS isArchived, root_id AS rootId, origin_id AS originId,
  origin_run_id AS originRunId, origin_event_id AS originEventId, seal`;

const MARKED = `SELECT ${COLUMNS} FROM sessions INDEXED BY sessions_marked
  WHERE session_id IS NOT NULL AND (is_pinned = 1 OR is_archived = 1)`;

const BY_ROOT = `SELECT ${COLUMNS} FROM sessions INDEXED BY sessions_by_root
  WHERE session_id IS NOT NULL AND root_id = ? AND owner = ?`;

const STATEMENTS = {
  find: `SELECT ${COLUMNS} FROM sessions WHERE session_id = ?`,
  findByKey: `SELECT ${COLUMNS} FROM sessions WHERE key = ?`,
  list: `SELECT ${COLUMNS} FROM sessions WHERE session_id IS NOT NULL AND key < ? ORDER BY key DESC LIMIT ?`,
  listOwned: `SELECT ${COLUMNS} FROM sessions INDEXED BY sessions_by_owner
    WHERE session_id IS NOT NULL AND owner = ? AND key < ? ORDER BY key DESC LIMIT ?`,
  listMarked: `${MARKED} AND key < ? ORDER BY key DESC LIMIT ?`,
  listMarkedOwned: `${MARKED} AND owner = ? AND key < ? ORDER BY key DESC LIMIT ?`,
  latestOwned: `SELECT key FROM sessions INDEXED BY sessions_by_owner
    WHERE session_id IS NOT NULL AND owner = ? AND key < ? ORDER BY key DESC LIMIT 1`,
  latest: "SELECT key FROM sessions WHERE session_id IS NOT NULL AND key < ? ORDER BY key DESC LIMIT 1",
  listOldestVersions: `${BY_ROOT} AND key > ? ORDER BY key LIMIT ?`,
  listNewestVersions: `${BY_ROOT} AND key < ? ORDER BY key DESC LIMIT ?`,
  nextKey: "SELECT coalesce((SELECT seq FROM sqlite_sequence WHERE name = 'sessions'), 0) + 1 AS key",
  insert: `INSERT INTO sessions (session_id, title, updated_at, first_id, base_pos, epoch, holder, expires_at, is_pinned,
    is_archived, root_id, origin_id, origin_run_id, origin_event_id, seal, key, incarnation, created_at, owner)
    VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
  update: `UPDATE sessions SET session_id = ?, title = ?, updated_at = ?, first_id = ?, base_pos = ?, epoch = ?,
    holder = ?, expires_at = ?, is_pinned = ?, is_archived = ?, root_id = ?, origin_id = ?, origin_run_id = ?,
    origin_event_id = ?, seal = ? WHERE key = ?`,
  renew: "UPDATE sessions SET incarnation = ?, seal = ? WHERE key = ?",
  lastEpoch: "SELECT epoch, seal FROM deleted_epochs",
  setLastEpoch: "UPDATE deleted_epochs SET epoch = ?, seal = ?",
  drafts: `SELECT ${COLUMNS} FROM sessions INDEXED BY sessions_drafts
    WHERE session_id IS NULL AND unswept = 0 ORDER BY key LIMIT ?`,
  unswept: `SELECT ${COLUMNS} FROM sessions WHERE unswept = 1`,
  markUnswept: "UPDATE sessions SET unswept = 1 WHERE key = ?",
} as const;

export class SessionRows {
  readonly #sql: Statements<typeof STATEMENTS>;

  constructor(db: DatabaseSync) {
    this.#sql = prepareAll(db, STATEMENTS);
  }

  find(sessionId: string): StoredSession | undefined {
    const row = this.#sql.find.get(sessionId) as SealedSession | undefined;
    return row === undefined ? undefined : verifyRow(row);
  }

  findByKey(key: number): StoredSession | undefined {
    const row = this.#sql.findByKey.get(key) as SealedSession | undefined;
    return row === undefined ? undefined : verifyRow(row);
  }

  /**
   * Lists sessions created before the one with this key, newest first, of one owner or all owners. `isMarked`: only those
   * that are pinned or archived.
   */
  list(before: number, limit: number, owner?: string, isMarked = false): readonly StoredSession[] {
    const { list, listOwned, listMarked, listMarkedOwned } = this.#sql;
    const rows =
      owner === undefined
        ? (isMarked ? listMarked : list).all(before, limit)
        : (isMarked ? listMarkedOwned : listOwned).all(owner, before, limit);
    return verifyList(rows, owner);
  }

  /** Lists the sessions of this owner with this root that were created after the one with the key `after`. */
  listVersions(
    rootId: string,
    owner: string,
    after: number,
    limit: number,
    newestFirst: boolean,
  ): readonly StoredSession[] {
    const { listNewestVersions, listOldestVersions } = this.#sql;
    const rows = (newestFirst ? listNewestVersions : listOldestVersions).all(rootId, owner, after, limit);
    return verifyList(rows, owner);
  }

  /** Whether no version of the same conversation was created after this session. */
  isNewestVersion({ key, rootId, owner }: StoredSession): boolean {
    const [newest] = this.listVersions(rootId ?? "", owner, Number.MAX_SAFE_INTEGER, 1, true);
    return newest?.key === key;
  }

  /** Returns the key of the latest session created before the one with this key, of one owner or all owners. */
  findLatest(before: number, owner?: string): number | undefined {
    const { latest, latestOwned } = this.#sql;
    const row = owner === undefined ? latest.get(before) : latestOwned.get(owner, before);
    return (row as { key: number } | undefined)?.key;
  }

  create(fresh: Omit<StoredSession, "key">): StoredSession {
    const row = { ...fresh, key: (this.#sql.nextKey.get() as { key: number }).key };
    const { key, incarnation, createdAt, owner } = row;
    this.#sql.insert.run(...changeable(row), sealOf(valuesOf(row)), key, incarnation, createdAt, owner);
    return row;
  }

  save(row: StoredSession): void {
    this.#sql.update.run(...changeable(row), sealOf(valuesOf(row)), row.key);
  }

  /** Makes the cursors of a session stale. */
  renew(key: number, incarnation: string): void {
    const row = this.findByKey(key);
    if (row !== undefined) this.#sql.renew.run(incarnation, sealOf(valuesOf({ ...row, incarnation })), key);
  }

  /** Highest epoch of any deleted session. */
  get lastEpoch(): number {
    const row = this.#sql.lastEpoch.get() as { epoch: number; seal: number } | undefined;
    if (row === undefined) throw new LoomError("store_corrupt", "The last epoch is missing in the store");
    assertSeal(row.seal, [row.epoch], "the last epoch");
    return row.epoch;
  }

  set lastEpoch(epoch: number) {
    this.#sql.setLastEpoch.run(epoch, sealOf([epoch]));
  }

  /** Lists drafts, without damaged ones, oldest first. */
  listDrafts(limit: number): readonly StoredSession[] {
    return (this.#sql.drafts.all(limit) as unknown as SealedSession[]).filter(hasValidSeal);
  }

  /** Lists sessions with rows to sweep. Damaged sessions are left out, because their first ID cannot be trusted. */
  listUnswept(limit: number): readonly StoredSession[] {
    const found: StoredSession[] = [];
    for (const row of this.#sql.unswept.iterate() as Iterable<unknown>) {
      if (hasValidSeal(row as SealedSession)) found.push(row as SealedSession);
      if (found.length >= limit) break;
    }
    return found;
  }

  /** Marks a session that has rows to sweep. */
  markUnswept({ key }: StoredSession): void {
    this.#sql.markUnswept.run(key);
  }
}

/** Columns of the origin and root of a session. */
export function toLineageColumns(
  sessionId: string,
  { rootId = sessionId, forkedFrom }: Pick<CreateOptions, "rootId" | "forkedFrom">,
): Pick<StoredSession, "rootId" | "originId" | "originRunId" | "originEventId"> {
  const { sessionId: originId = null, runId: originRunId = null, eventId: originEventId = null } = forkedFrom ?? {};
  return { rootId, originId, originRunId, originEventId };
}

function changeable(row: StoredSession): (string | number | null)[] {
  const { sessionId, title, updatedAt, firstId, basePos, epoch, holder, expiresAt, isPinned, isArchived } = row;
  const { rootId, originId, originRunId, originEventId } = row;
  const marks = [isPinned, isArchived];
  const lineage = [rootId, originId, originRunId, originEventId];
  return [sessionId, title, updatedAt, firstId, basePos, epoch, holder, expiresAt, ...marks, ...lineage];
}

function valuesOf(row: StoredSession): (string | number | null)[] {
  return [row.key, row.incarnation, row.createdAt, row.owner, ...changeable(row)];
}

/**
 * Indexes have no seals. A value that SQLite reads from an index fails the seal of the row; one it reads from the row may
 * differ from the requested one.
 */
function verifyList(rows: unknown, owner: string | undefined): readonly StoredSession[] {
  return (rows as SealedSession[]).map((sealed) => {
    const row = verifyRow(sealed);
    if (owner === undefined || row.owner === owner) return row;
    throw new LoomError("store_corrupt", "The index of session owners is damaged");
  });
}

function verifyRow({ seal, ...row }: SealedSession): StoredSession {
  assertSeal(seal, valuesOf(row), `session "${row.sessionId ?? ""}"`);
  return row;
}

function hasValidSeal(row: SealedSession): boolean {
  return row.seal === sealOf(valuesOf(row));
}
