/**
 * Reads the records of a recorded session for a replay. If the replay starts within a run, the earlier records of that
 * run are included and marked as past.
 */
import { followRecords } from "../log/follow-records.ts";
import type { Log } from "../log/log.ts";
import { assertPosition, assertRun, assertSession } from "../log/rules.ts";
import type { StampedRecord } from "../protocol/index.ts";
import { BoundedMap } from "../protocol/bounded-map.ts";
import { createRecordCompleter } from "./complete-records.ts";

/** The part of a session to replay. */
export interface ReplayOptions {
  /** Replay only this run; code `unknown_run`. Default: all runs. */
  readonly runId?: string;
  /** Id of the last record to skip; codes `cursor_invalid`, `cursor_ahead`. Default: 0, the start of the session. */
  readonly after?: number;
  /** Stops the replay, which then throws the reason of the signal. */
  readonly signal?: AbortSignal;
}

export interface ReplayedRecord {
  readonly record: StampedRecord;
  readonly isPast: boolean;
}

const MAX_KNOWN_RUNS = 1000;

/** Yields records up to the end of the session at that time. */
export async function* replayRecords(
  log: Log,
  sessionId: string,
  { runId, after = 0, signal }: ReplayOptions,
): AsyncGenerator<ReplayedRecord, void, undefined> {
  const { from, to } = await findRange(log, sessionId, runId, after);
  signal?.throwIfAborted();
  const complete = createRecordCompleter();
  const goesOn = createRunCheck(log, sessionId, after);
  for await (const { records } of followRecords(log, sessionId, { after: from, signal })) {
    for (const stored of records) {
      const record = complete(stored);
      const { event_id, run_id } = record.envelope;
      if (event_id > to) return;
      if (runId !== undefined && run_id !== runId) continue;
      const isPast = event_id <= after;
      if (!isPast || (await goesOn(run_id))) yield { record, isPast };
    }
  }
  signal?.throwIfAborted();
}

/** Returns a function that tells whether a run has records after `after`. Past records of other runs are not needed. */
function createRunCheck(log: Log, sessionId: string, after: number) {
  const known = new BoundedMap<boolean>(MAX_KNOWN_RUNS);
  return async (runId: string | undefined): Promise<boolean> => {
    if (runId === undefined) return true;
    let isGoing = known.get(runId);
    if (isGoing === undefined) {
      const run = await log.getRun(sessionId, runId);
      isGoing = run?.lastId === undefined || run.lastId > after;
      known.set(runId, isGoing);
    }
    return isGoing;
  };
}

async function findRange(log: Log, sessionId: string, runId: string | undefined, after: number) {
  const session = assertSession(await log.getSession(sessionId), sessionId);
  const { firstId, lastId } = session;
  assertPosition(sessionId, after, 1, lastId);
  if (runId !== undefined) {
    const run = assertRun(await log.getRun(sessionId, runId), sessionId, runId);
    return { from: run.firstId - 1, to: run.lastId ?? Number.POSITIVE_INFINITY };
  }
  const to = Number.POSITIVE_INFINITY;
  if (after > 0) return { from: Math.min(await log.findFoldStart(sessionId, after), after + 1) - 1, to };
  // Pruned records cannot be replayed.
  return { from: firstId - 1, to };
}
