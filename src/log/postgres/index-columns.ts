/** Columns of runs and landmarks, and what they mean. */
import type { Landmark, LandmarkKind } from "../log.ts";
import type { RunRow } from "../stored-rows.ts";
import { fromColumn, fromOptionalColumn } from "../../postgres/text-column.ts";

/** Columns of `RunRow`, from `runs r`. */
export const RUN = `r.run_id AS "runId", r.status, r.first_id AS "firstId", r.last_id AS "lastId",
  r.started_at AS "startedAt", r.ended_at AS "endedAt", r.code, r.request_id AS "requestId", r.agent`;

/** Columns of a landmark, from `landmarks l`. */
export const LANDMARK = `l.kind, l.key, l.event_id AS "eventId", l.run_id AS "runId"`;

/** A row of `landmarks`. */
export interface StoredLandmark {
  readonly kind: LandmarkKind;
  readonly key: string;
  readonly eventId: number;
  readonly runId: string | null;
}

/** Restores the strings of a row. */
export function readRun(row: RunRow): RunRow {
  return {
    ...row,
    runId: fromColumn(row.runId),
    code: fromOptionalColumn(row.code) ?? null,
    requestId: fromOptionalColumn(row.requestId) ?? null,
    agent: fromOptionalColumn(row.agent) ?? null,
  };
}

export function readLandmark({ kind, key, eventId, runId }: StoredLandmark): Landmark {
  return { kind, key: fromColumn(key), eventId, runId: fromOptionalColumn(runId) };
}
