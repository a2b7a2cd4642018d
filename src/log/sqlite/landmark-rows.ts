/** Reads and writes the rows of landmarks. Each row has a seal, see `sqlite/seal.ts`. */
import type { DatabaseSync } from "node:sqlite";
import { prepareAll, type Statements } from "../../sqlite/database.ts";
import { assertSeal, sealOf } from "../../sqlite/seal.ts";
import type { Landmark, LandmarkKind } from "../log.ts";
import type { NullFor } from "../stored-rows.ts";

type LandmarkRow = NullFor<Landmark> & { readonly seal: number };

const COLUMNS = "kind, key, event_id AS eventId, run_id AS runId, seal";

const STATEMENTS = {
  find: `SELECT ${COLUMNS} FROM landmarks WHERE session = ? AND kind = ? AND key = ?`,
  list: `SELECT ${COLUMNS} FROM landmarks WHERE session = ? AND kind = ? AND event_id < ?
    ORDER BY event_id DESC LIMIT ?`,
  set: `INSERT INTO landmarks (session, kind, key, event_id, run_id, seal) VALUES (?, ?, ?, ?, ?, ?)
    ON CONFLICT DO UPDATE SET event_id = excluded.event_id, run_id = excluded.run_id, seal = excluded.seal`,
  delete: "DELETE FROM landmarks WHERE session = ? AND kind = ? AND key = ?",
} as const;

export class LandmarkRows {
  readonly #sql: Statements<typeof STATEMENTS>;

  constructor(db: DatabaseSync) {
    this.#sql = prepareAll(db, STATEMENTS);
  }

  find(session: number, kind: LandmarkKind, key: string): Landmark | undefined {
    const row = this.#sql.find.get(session, kind, key) as LandmarkRow | undefined;
    return row === undefined ? undefined : verifyRow(session, row);
  }

  /** Lists landmarks before record `before`, newest first. */
  list(session: number, kind: LandmarkKind, before: number, limit: number): readonly Landmark[] {
    const rows = this.#sql.list.all(session, kind, before, limit) as unknown as LandmarkRow[];
    return rows.map((row) => verifyRow(session, row));
  }

  set(session: number, { kind, key, eventId, runId }: Landmark): void {
    const values = [session, kind, key, eventId, runId ?? null];
    this.#sql.set.run(...values, sealOf(values));
  }

  delete(session: number, kind: LandmarkKind, key: string): void {
    this.#sql.delete.run(session, kind, key);
  }
}

function verifyRow(session: number, { kind, key, eventId, runId, seal }: LandmarkRow): Landmark {
  assertSeal(seal, [session, kind, key, eventId, runId], `${kind} "${key}"`);
  return { kind, key, eventId, runId: runId ?? undefined };
}
