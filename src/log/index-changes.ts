/**
 * What a batch changes in a session's indexes: runs that begin or end, landmarks, and what was said. The indexes are projections of the
 * records and written with them, so they never disagree. Their texts are well-formed, whatever the records hold: half a
 * character has no UTF-8, and a store would read back another text than it was given.
 */
import { type EventOf, isTerminal } from "../protocol/index.ts";
import type { Landmark, LogEntry, RunStatus } from "./log.ts";
import { findSaid, type SaidAt } from "./said.ts";
import { MAX_SEARCHED_LENGTH } from "./search-text.ts";

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
  /** Messages and replies, as far as they are searched. */
  readonly said: readonly SaidAt[];
}

export function findIndexChanges(entries: readonly LogEntry[]): IndexChanges {
  const begins: RunBegin[] = [];
  const ends: RunEnd[] = [];
  const landmarks: Landmark[] = [];
  const said: SaidAt[] = [];
  const seen = new Set<string>();
  for (const { record } of entries) {
    const { envelope, event } = record;
    const { run_id: runId, event_id: eventId, ts = 0 } = envelope;
    if (runId !== undefined && !seen.has(runId)) {
      seen.add(runId);
      const start = event.type === "run_start" ? (event as EventOf<"run_start">) : undefined;
      const requestId = start?.request_id?.toWellFormed();
      begins.push({ runId, firstId: eventId, startedAt: ts, requestId, agent: start?.agent?.toWellFormed() });
    }
    if (runId !== undefined && isTerminal(event)) {
      const end = event.type === "run_end" ? (event as EventOf<"run_end">) : undefined;
      const status = end === undefined ? "completed" : end.status;
      ends.push({ runId, lastId: eventId, endedAt: ts, status, code: end?.code?.toWellFormed() });
    }
    if (event.type === "checkpoint") {
      const key = (event as EventOf<"checkpoint">).checkpoint_id.toWellFormed();
      landmarks.push({ kind: "checkpoint", key, eventId, runId });
    } else if (event.type === "todo_list") {
      const key = (event as EventOf<"todo_list">).list_id.toWellFormed();
      landmarks.push({ kind: "todo_list", key, eventId, runId });
    } else {
      const text = findSaid(event)?.text;
      if (text !== undefined) said.push({ eventId, text: text.slice(0, MAX_SEARCHED_LENGTH) });
    }
  }
  return { begins, ends, landmarks, said };
}
