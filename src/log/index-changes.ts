/**
 * What a batch changes in a session's indexes: runs that begin or end, and landmarks. The indexes are projections of the
 * records and written with them, so they never disagree.
 */
import { type EventOf, isTerminal } from "../protocol/index.ts";
import type { Landmark, LogEntry, RunStatus } from "./log.ts";

export interface RunBegin {
  readonly runId: string;
  readonly firstId: number;
  readonly startedAt: number;
  readonly requestId: string | undefined;
  readonly agent: string | undefined;
}

export interface RunEnd {
  readonly runId: string;
  readonly lastId: number;
  readonly endedAt: number;
  readonly status: Exclude<RunStatus, "live">;
  readonly code: string | undefined;
}

export interface IndexChanges {
  /** The runs of the batch, by their first record in it; those that are known already have begun before. */
  readonly begins: readonly RunBegin[];
  readonly ends: readonly RunEnd[];
  readonly landmarks: readonly Landmark[];
}

export function findIndexChanges(entries: readonly LogEntry[]): IndexChanges {
  const begins: RunBegin[] = [];
  const ends: RunEnd[] = [];
  const landmarks: Landmark[] = [];
  let seen: string | undefined;
  for (const { record } of entries) {
    const { envelope, event } = record;
    const { run_id: runId, event_id: eventId, ts = 0 } = envelope;
    if (runId !== undefined && runId !== seen) {
      seen = runId;
      const start = event.type === "run_start" ? (event as EventOf<"run_start">) : undefined;
      if (!begins.some((begin) => begin.runId === runId))
        begins.push({ runId, firstId: eventId, startedAt: ts, requestId: start?.request_id, agent: start?.agent });
    }
    if (runId !== undefined && isTerminal(event)) {
      const end = event.type === "run_end" ? (event as EventOf<"run_end">) : undefined;
      const status = end === undefined ? "completed" : end.status;
      ends.push({ runId, lastId: eventId, endedAt: ts, status, code: end?.code });
    }
    if (event.type === "checkpoint") {
      const key = (event as EventOf<"checkpoint">).checkpoint_id;
      landmarks.push({ kind: "checkpoint", key, eventId, runId });
    } else if (event.type === "todo_list") {
      landmarks.push({ kind: "todo_list", key: (event as EventOf<"todo_list">).list_id, eventId, runId });
    }
  }
  return { begins, ends, landmarks };
}
