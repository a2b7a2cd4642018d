/**
 * Adds a missing run ID and timestamp to records of one session. Imported streams may name a run only in its first
 * record, or never. Observers and replays use completed records.
 *
 * If runs are named, a record that may belong to the session and names no run stays without one, as encoders treat it.
 */
import type { EventOf, StampedRecord } from "../protocol/index.ts";
import { isTerminal, mayLackRun } from "../protocol/record.ts";

/** Returns a function that completes records in order. Start where no unnamed run is open. */
export function createRecordCompleter(): (record: StampedRecord) => StampedRecord {
  let open: { readonly runId: string; readonly isNamed: boolean } | undefined;
  let lastTs: number | undefined;
  return (record) => {
    const { envelope, event } = record;
    const { run_id: given, ts } = envelope;
    let runId = given;
    if (given === undefined) {
      if (event.type === "run_start")
        open = { runId: (event as EventOf<"run_start">).run_id ?? `run-${envelope.event_id}`, isNamed: false };
      if (open !== undefined && !(open.isNamed && mayLackRun(event))) ({ runId } = open);
    } else if (given !== open?.runId) open = { runId: given, isNamed: true };
    if (runId !== undefined && runId === open?.runId && isTerminal(event)) open = undefined;
    if (ts === undefined && lastTs !== undefined)
      return { envelope: { ...envelope, ...(runId === undefined ? {} : { run_id: runId }), ts: lastTs }, event };
    lastTs = ts;
    return runId === given || runId === undefined ? record : { envelope: { ...envelope, run_id: runId }, event };
  };
}
