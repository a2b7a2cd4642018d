/**
 * Reads and writes the rows of lineages: the origin and the root of forks. Other sessions have no row and are their own
 * root. Each row has a seal, see `sqlite/seal.ts`.
 */
import type { DatabaseSync } from "node:sqlite";
import { LoomError } from "../../protocol/loom-error.ts";
import { prepareAll, type Statements } from "../../sqlite/database.ts";
import { assertSeal, sealOf } from "../../sqlite/seal.ts";
import type { Lineage } from "../stored-rows.ts";
import type { SessionRows, StoredSession } from "./session-rows.ts";

interface LineageRow {
  readonly session: number;
  readonly owner: string;
  readonly rootId: string;
  /** Null if the session is not a fork. */
  readonly parentId: string | null;
  readonly runId: string | null;
  readonly eventId: number | null;
  readonly seal: number;
}

const COLUMNS = "session, owner, root_id AS rootId, parent_id AS parentId, run_id AS runId, event_id AS eventId, seal";
const BY_ROOT = `SELECT ${COLUMNS} FROM lineages INDEXED BY lineages_by_root WHERE root_id = ? AND owner = ?`;

const STATEMENTS = {
  find: `SELECT ${COLUMNS} FROM lineages WHERE session = ?`,
  listOldest: `${BY_ROOT} AND session > ? ORDER BY session LIMIT ?`,
  listNewest: `${BY_ROOT} AND session < ? ORDER BY session DESC LIMIT ?`,
  insert: `INSERT INTO lineages (session, owner, root_id, parent_id, run_id, event_id, seal)
    VALUES (?, ?, ?, ?, ?, ?, ?)`,
  delete: "DELETE FROM lineages WHERE session = ?",
} as const;

export class LineageRows {
  readonly #sql: Statements<typeof STATEMENTS>;
  readonly #sessions: SessionRows;

  constructor(db: DatabaseSync, sessions: SessionRows) {
    this.#sql = prepareAll(db, STATEMENTS);
    this.#sessions = sessions;
  }

  get({ key, sessionId }: StoredSession): Lineage {
    const row = this.#find(key);
    if (row === undefined) return { rootId: sessionId ?? "", forkedFrom: undefined };
    const { rootId, parentId, runId, eventId } = row;
    if (parentId === null) return { rootId, forkedFrom: undefined };
    const run = runId === null ? {} : { runId };
    return { rootId, forkedFrom: { sessionId: parentId, ...run, eventId: eventId ?? 0 } };
  }

  /** Lists sessions with this root and owner after the one with the key `after`. */
  list(rootId: string, owner: string, after: number, limit: number, newestFirst: boolean): readonly StoredSession[] {
    const { listNewest, listOldest } = this.#sql;
    const rows = (newestFirst ? listNewest : listOldest).all(rootId, owner, after, limit) as unknown as LineageRow[];
    const found = rows.map((row) => this.#getSession(verifyRow(row)));
    const root = this.#sessions.find(rootId);
    const isListed = root !== undefined && root.owner === owner && this.#find(root.key) === undefined;
    if (!isListed || (newestFirst ? root.key >= after : root.key <= after)) return found;
    const inOrder = [...found, root].sort((a, b) => (newestFirst ? b.key - a.key : a.key - b.key));
    return inOrder.slice(0, limit);
  }

  /** Whether no version of the same conversation was created after this session. */
  isNewest(session: StoredSession): boolean {
    const [newest] = this.list(this.get(session).rootId, session.owner, Number.MAX_SAFE_INTEGER, 1, true);
    return newest?.key === session.key;
  }

  /** Stores the lineage of a new session. */
  create({ key, owner }: StoredSession, { rootId, forkedFrom }: Lineage): void {
    const { sessionId = null, runId = null, eventId = null } = forkedFrom ?? {};
    const values = [key, owner, rootId, sessionId, runId, eventId];
    this.#sql.insert.run(...values, sealOf(values));
  }

  delete({ key }: StoredSession): void {
    this.#sql.delete.run(key);
  }

  #find(key: number): LineageRow | undefined {
    const row = this.#sql.find.get(key) as LineageRow | undefined;
    return row === undefined ? undefined : verifyRow(row);
  }

  #getSession({ session, owner }: LineageRow): StoredSession {
    const row = this.#sessions.findByKey(session);
    // The seals of both rows are valid, so one of the rows is missing or belongs to another session.
    if (row?.sessionId == null || row.owner !== owner)
      throw new LoomError("store_corrupt", "The lineage of a session is damaged");
    return row;
  }
}

function verifyRow(row: LineageRow): LineageRow {
  const { session, owner, rootId, parentId, runId, eventId, seal } = row;
  assertSeal(seal, [session, owner, rootId, parentId, runId, eventId], "the lineage of a session");
  return row;
}
