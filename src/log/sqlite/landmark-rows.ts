/**
 * The rows of landmarks, sealed like those of sessions.
 */
import type { DatabaseSync } from "node:sqlite";
import type { Landmark, LandmarkKind } from "../log.ts";
import { prepareAll, type Statements } from "./connection.ts";
import { assertSeal, sealOf } from "./seal.ts";

interface LandmarkRow {
  readonly kind: LandmarkKind;
  readonly key: string;
  readonly eventId: number;
  readonly runId: string | null;
  readonly seal: number;
}

const COLUMNS = "kind, key, event_id AS eventId, run_id AS runId, seal";

const STATEMENTS = {
  find: `SELECT ${COLUMNS} FROM landmarks WHERE session = ? AND kind = ? AND key = ?`,
  list: `SELECT ${COLUMNS} FROM landmarks WHERE session = ? AND kind = ? AND event_id < ?
    ORDER BY event_id DESC LIMIT ?`,
  set: `INSERT INTO landmarks (session, kind, key, event_id, run_id, seal) VALUES (?, ?, ?, ?, ?, ?)
    ON CONFLICT DO UPDATE SET event_id = excluded.event_id, run_id = excluded.run_id, seal = excluded.seal`,
} as const;

export class LandmarkRows {
  readonly #sql: Statements<typeof STATEMENTS>;

  constructor(db: DatabaseSync) {
    this.#sql = prepareAll(db, STATEMENTS);
  }

  find(session: number, kind: LandmarkKind, key: string): Landmark | undefined {
    const row = this.#sql.find.get(session, kind, key) as LandmarkRow | undefined;
    return row === undefined ? undefined : prove(session, row);
  }

  /** Those before record `before`, newest first. */
  list(session: number, kind: LandmarkKind, before: number, limit: number): readonly Landmark[] {
    const rows = this.#sql.list.all(session, kind, before, limit) as unknown as LandmarkRow[];
    return rows.map((row) => prove(session, row));
  }

  set(session: number, { kind, key, eventId, runId }: Landmark): void {
    const values = [session, kind, key, eventId, runId ?? null];
    this.#sql.set.run(...values, sealOf(values));
  }
}

function prove(session: number, { kind, key, eventId, runId, seal }: LandmarkRow): Landmark {
  assertSeal(seal, [session, kind, key, eventId, runId], `the ${kind} "${key}"`);
  return { kind, key, eventId, runId: runId ?? undefined };
}
