/**
 * Retention in a store: what `prune-runs.ts` lists and measures. It is read on the read-only connection, so that writers do
 * not wait; only cuts are written.
 */
import type { DatabaseSync } from "node:sqlite";
import { setTimeout as pause } from "node:timers/promises";
import { prepareAll, type Statements } from "../../sqlite/database.ts";
import {
  type CutOutcome,
  type EndedRun,
  ENDED_RUNS,
  LARGE_SESSIONS,
  type PrunableRun,
  type PrunableSession,
  type PrunableStore,
  PRUNING_MS,
} from "../prune-runs.ts";
import { toCarriedRows } from "./carried-rows.ts";
import type { StoreOperation } from "./operations.ts";
import type { StoreRows } from "./store-rows.ts";

/** Pause between the transactions of a long operation, so that other processes can write. */
export const PAUSE_MS = 4;
/** Sessions measured at once: a few milliseconds. */
const MEASURED = 1000;

/** A session whose records were all pruned ends where it starts. */
const SIZE = `max(0, coalesce((SELECT pos FROM recent WHERE session = s.key ORDER BY id DESC LIMIT 1),
  (SELECT pos FROM extents WHERE session = s.key), 0) - s.base_pos)`;

const STATEMENTS = {
  measure: `SELECT count(*) AS count, max(key) AS lastKey, coalesce(sum(bytes), 0) AS bytes FROM (
    SELECT s.key, ${SIZE} AS bytes FROM sessions s WHERE s.session_id IS NOT NULL AND s.key > ?
    ORDER BY s.key LIMIT ${MEASURED})`,
  large: `SELECT s.key, s.session_id AS sessionId FROM sessions s WHERE s.session_id IS NOT NULL AND s.key > ?
    AND ${SIZE} > ? ORDER BY s.key LIMIT ${LARGE_SESSIONS}`,
  ended: `SELECT s.key, s.session_id AS sessionId, r.run_id AS runId, r.ended_at AS endedAt
    FROM runs r INDEXED BY runs_by_end CROSS JOIN sessions s ON s.key = r.session
    WHERE r.last_id IS NOT NULL AND r.ended_at < ? AND (r.ended_at, r.session, r.run_id) > (?, ?, ?)
      AND s.session_id IS NOT NULL ORDER BY r.ended_at, r.session, r.run_id LIMIT ${ENDED_RUNS}`,
  carried: "SELECT coalesce(sum(octet_length(text)), 0) AS bytes FROM carried WHERE session = ?",
  runs: `SELECT first_id AS firstId, last_id AS lastId, ended_at AS endedAt FROM runs
    WHERE session = ? ORDER BY first_id LIMIT ?`,
} as const;

export class RetentionRows {
  readonly #sql: Statements<typeof STATEMENTS>;
  readonly #rows: StoreRows;

  constructor(db: DatabaseSync, rows: StoreRows) {
    this.#sql = prepareAll(db, STATEMENTS);
    this.#rows = rows;
  }

  /** Measures some sessions after this key. `lastKey` is undefined if there are no more. */
  measure(afterKey: number): { readonly bytes: number; readonly lastKey: number | undefined } {
    const { count, lastKey, bytes } = this.#sql.measure.get(afterKey) as Record<string, number>;
    return { bytes: bytes ?? 0, lastKey: count === MEASURED ? lastKey : undefined };
  }

  listLarge(bytes: number, afterKey: number): readonly PrunableSession[] {
    return this.#sql.large.all(afterKey, bytes) as unknown as PrunableSession[];
  }

  listEnded(before: number, after: EndedRun | undefined): readonly EndedRun[] {
    const { endedAt = -Infinity, key = 0, runId = "" } = after ?? {};
    return this.#sql.ended.all(before, endedAt, key, runId) as unknown as EndedRun[];
  }

  /** Size in bytes of the records of a session after record `id`. */
  measureAfter(key: number, id: number): number {
    const { sessions, records } = this.#rows;
    const row = sessions.findByKey(key);
    return row === undefined ? 0 : records.findLast(row).pos - records.findPosition(key, id);
  }

  measureCarried(key: number): number {
    return (this.#sql.carried.get(key) as { bytes: number }).bytes;
  }

  listRuns(key: number, limit: number): readonly PrunableRun[] {
    return this.#sql.runs.all(key, limit) as unknown as PrunableRun[];
  }
}

interface PrunerParts {
  readonly read: <T>(read: (rows: RetentionRows) => T) => T;
  readonly write: <T>(operation: StoreOperation) => Promise<T>;
  readonly now: () => number;
}

export function createPruner({ read, write, now }: PrunerParts): PrunableStore {
  return {
    hold: async (holder) => write<boolean>({ do: "hold-pruning", holder, now: now(), expiresAt: now() + PRUNING_MS }),
    release: async (holder) => write({ do: "hold-pruning", holder, now: now(), expiresAt: 0 }),
    measure: async () => {
      let bytes = 0;
      for (let afterKey: number | undefined = 0; afterKey !== undefined;) {
        const part: ReturnType<RetentionRows["measure"]> = read((rows) => rows.measure(afterKey ?? 0));
        bytes += part.bytes;
        afterKey = part.lastKey;
        if (afterKey !== undefined) await pause(PAUSE_MS);
      }
      return bytes;
    },
    listLarge: async (bytes, afterKey) => read((rows) => rows.listLarge(bytes, afterKey)),
    listEnded: async (before, after) => read((rows) => rows.listEnded(before, after)),
    listRuns: async (key, limit) => read((rows) => rows.listRuns(key, limit)),
    measureAfter: async (key, id) => read((rows) => rows.measureAfter(key, id)),
    measureCarried: async (key) => read((rows) => rows.measureCarried(key)),
    cut: async ({ carried, ...cut }) => {
      const expiresAt = now() + PRUNING_MS;
      const outcome = await write<CutOutcome>({ do: "cut", ...cut, carried: toCarriedRows(carried), expiresAt });
      await pause(PAUSE_MS);
      return outcome;
    },
  };
}
