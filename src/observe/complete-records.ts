/**
 * Gives records of one session what they may lack: the run they belong to, and a time. Streams that came from elsewhere
 * name a run only where it begins, or not at all; all who look at records look at these.
 *
 * Where runs are named, a record that may stand by itself and names none belongs to the session alone, as encoders have it.
 */
import { type EventOf, isTerminal, mayLackRun, type StampedRecord } from "../protocol/index.ts";

/** Records are given in order, from a place where no run without a name is going. */
export function createCompletion(): (record: StampedRecord) => StampedRecord {
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
