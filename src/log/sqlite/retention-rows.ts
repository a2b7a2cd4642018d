/**
 * Retention in a store: what `prune-runs.ts` lists and measures. It is read on the read-only connection, so that writers do
 * not wait; only cuts are written.
 */
import type { DatabaseSync } from "node:sqlite";
import { setTimeout as pause } from "node:timers/promises";
import { prepareAll, type Statements } from "../../sqlite/database.ts";
import {
  type EndedRun,
  ENDED_RUNS,
  LARGE_SESSIONS,
  type PrunableRun,
  type PrunableSession,
  type PrunableStore,
  PRUNING_MS,
} from "../prune-runs.ts";
import { toCarriedRows } from "./carried-rows.ts";
import type { WriteOperation } from "./operations.ts";
import type { StoreRows } from "./store-rows.ts";

/** Pause between the transactions of a long operation, so that other processes can write. */
export const PAUSE_MS = 4;
/** Sessions measured at once: a few milliseconds. */
const MEASURED = 1000;

/** A session whose records were all pruned ends where it starts. */
const SIZE = `max(0, coalesce((SELECT pos FROM recent WHERE session = s.key ORDER BY id DESC LIMIT 1),
  (SELECT pos FROM extents WHERE session = s.key), 0) - s.base_pos)`;

/** The position before the first ended run. */
const BEFORE_ALL: EndedRun = { endedAt: -Infinity, key: 0, sessionId: "", runId: "" };

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
  runs: `SELECT first_id AS firstId, last_id AS lastId, ended_at AS endedAt FROM runs
    WHERE session = ? ORDER BY first_id LIMIT ?`,
} as const;

/** The size of some sessions, and the last of them. */
interface Measured {
  readonly count: number;
  readonly lastKey: number;
  readonly bytes: number;
}

/** What retention reads, on one connection. */
export interface RetentionReads extends Pick<StoreRows, "sessions" | "records"> {
  readonly retention: Statements<typeof STATEMENTS>;
}

export function prepareRetention(db: DatabaseSync): RetentionReads["retention"] {
  return prepareAll(db, STATEMENTS);
}

interface PrunerParts {
  readonly read: <T>(read: (open: RetentionReads) => T) => T;
  readonly write: WriteOperation;
  readonly now: () => number;
}

export function createPruner({ read, write, now }: PrunerParts): PrunableStore {
  return {
    hold: async (holder) => write({ do: "hold-pruning", holder, now: now(), expiresAt: now() + PRUNING_MS }),
    release: async (holder) => void (await write({ do: "hold-pruning", holder, now: now(), expiresAt: 0 })),
    measure: async () => {
      for (let sum = 0, afterKey = 0; ; await pause(PAUSE_MS)) {
        const { count, lastKey, bytes } = read(
          ({ retention }) => retention.measure.get(afterKey) as unknown as Measured,
        );
        sum += bytes;
        if (count < MEASURED) return sum;
        afterKey = lastKey;
      }
    },
    listLarge: async (bytes, afterKey) =>
      read(({ retention }) => retention.large.all(afterKey, bytes) as unknown as PrunableSession[]),
    listEnded: async (before, { endedAt, key, runId } = BEFORE_ALL) =>
      read(({ retention }) => retention.ended.all(before, endedAt, key, runId) as unknown as EndedRun[]),
    listRuns: async (key, limit) => read(({ retention }) => retention.runs.all(key, limit) as unknown as PrunableRun[]),
    measureAfter: async (key, id) =>
      read(({ sessions, records }) => {
        const row = sessions.findByKey(key);
        return row === undefined ? 0 : records.findLast(row).pos - records.findPosition(key, id);
      }),
    cut: async ({ carried, ...cut }) => {
      const expiresAt = now() + PRUNING_MS;
      const outcome = await write({ do: "cut", ...cut, carried: toCarriedRows(carried), expiresAt });
      await pause(PAUSE_MS);
      return outcome;
    },
  };
}
