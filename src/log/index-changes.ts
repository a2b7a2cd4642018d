/**
 * Derives the index changes of a batch: runs that start or end, landmarks, and texts to search. The indexes are written
 * in the same transaction as the records, so they always agree.
 *
 * Invariant: strings in the indexes are well-formed Unicode. A lone surrogate has no UTF-8 form, and a store would read
 * back a different string.
 */
import type { EventOf } from "../protocol/index.ts";
import { endsRun, isBeforeReply } from "../protocol/record.ts";
import type { Landmark, LogEntry, RunInfo, RunStatus } from "./log.ts";
import { findConversationText, type IndexedText } from "./conversation-text.ts";
import { isForeign } from "./foreign-mark.ts";
import { MAX_SEARCHED_LENGTH } from "./search-text.ts";
import { toActor } from "./stored-rows.ts";

/** Index data from the first record of a run. */
export interface IndexedRunStart extends Pick<RunInfo, "runId" | "firstId" | "startedAt" | "requestId" | "agent"> {
  /** Principal of the run, for its limit of runs; undefined for a run that another program executes. */
  readonly actor: string | undefined;
}

/** Index data from the last record of a run. */
export interface IndexedRunEnd extends Pick<RunInfo, "runId" | "code"> {
  readonly lastId: number;
  readonly endedAt: number;
  readonly status: Exclude<RunStatus, "live">;
}

export interface IndexChanges {
  /** First record of each run in the batch, including runs that started in an earlier batch. */
  readonly starts: readonly IndexedRunStart[];
  readonly ends: readonly IndexedRunEnd[];
  readonly landmarks: readonly Landmark[];
  /** Keys of approvals that were answered. */
  readonly answered: readonly string[];
  /** Searchable messages and replies, cut to the searched length. */
  readonly texts: readonly IndexedText[];
}

export function findIndexChanges(entries: readonly LogEntry[]): IndexChanges {
  const starts: IndexedRunStart[] = [];
  const ends: IndexedRunEnd[] = [];
  const landmarks: Landmark[] = [];
  const answered = new Set<string>();
  const texts: IndexedText[] = [];
  const seen = new Set<string>();
  for (const { record } of entries) {
    const { envelope, event } = record;
    const { run_id: runId, event_id: eventId, ts = 0 } = envelope;
    if (runId !== undefined && !seen.has(runId)) {
      seen.add(runId);
      const start = event.type === "run_start" ? (event as EventOf<"run_start">) : undefined;
      const requestId = start?.request_id?.toWellFormed();
      const agent = start?.agent?.toWellFormed();
      const actor = isForeign(envelope) ? undefined : toActor(start?.actor);
      starts.push({ runId, firstId: eventId, startedAt: ts, requestId, agent, actor });
    }
    // The first of a run counts: `run_end` has the status, and its reply is the next record.
    if (runId !== undefined && endsRun(event)) {
      const end = event.type === "run_end" ? (event as EventOf<"run_end">) : undefined;
      const status = end === undefined ? "completed" : end.status;
      ends.push({
        runId,
        lastId: isBeforeReply(event) ? eventId + 1 : eventId,
        endedAt: ts,
        status,
        code: end?.code?.toWellFormed(),
      });
    }
    if (event.type === "checkpoint") {
      const key = (event as EventOf<"checkpoint">).checkpoint_id.toWellFormed();
      landmarks.push({ kind: "checkpoint", key, eventId, runId });
    } else if (event.type === "todo_list") {
      const key = (event as EventOf<"todo_list">).list_id.toWellFormed();
      landmarks.push({ kind: "todo_list", key, eventId, runId });
    } else if (event.type === "tool_permission" && runId === undefined) {
      // A run cannot allow its own tools.
      const key = (event as EventOf<"tool_permission">).name.toWellFormed();
      landmarks.push({ kind: "tool_permission", key, eventId, runId });
    } else if (event.type === "tool_approval" && runId !== undefined) {
      const key = keyOfApproval(event as EventOf<"tool_approval">);
      answered.delete(key);
      landmarks.push({ kind: "tool_approval", key, eventId, runId });
    } else if (event.type === "tool_approval_result") {
      answered.add(keyOfApproval(event as EventOf<"tool_approval_result">));
    } else {
      const text = findConversationText(event)?.text;
      if (text !== undefined) texts.push({ eventId, text: text.slice(0, MAX_SEARCHED_LENGTH) });
    }
  }
  const open = landmarks.filter(({ kind, key }) => kind !== "tool_approval" || !answered.has(key));
  return { starts, ends, landmarks: open, answered: [...answered], texts };
}

/** Other writers may omit the ID of the call. */
function keyOfApproval({ call_id = "" }: EventOf<"tool_approval" | "tool_approval_result">): string {
  return call_id.toWellFormed();
}
