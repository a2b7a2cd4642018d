/** Assigns the records of a stream to its live runs: by session and run ID, as far as a record names them. */
import { type EventRecord, isKnownEvent, mayLackRun } from "./record.ts";

/** The session and run ID that the first record of a run names. */
export interface NamedRun {
  readonly sessionId: string | undefined;
  readonly runId: string | undefined;
}

/** Different pairs have different keys. */
export function runKey(session: string | undefined, run: string | undefined): string {
  return `${session?.length ?? "-"}:${session ?? ""}${run === undefined ? "-" : `:${run}`}`;
}

/** True for a record without run ID that can happen outside a run. */
export function mayBeRunless({ envelope, event }: EventRecord): boolean {
  return envelope.run_id === undefined && (mayLackRun(event) || !isKnownEvent(event));
}

/**
 * Finds the run of a record among the live runs, which are stored by `runKey`. If none has the same session and run ID:
 * where only one of the two names a session, the run ID decides, and a record that names neither belongs to the only live
 * run. Returns "several" if more than one run matches.
 */
export function matchRun<R extends { readonly source: NamedRun }>(
  record: EventRecord,
  live: { get(key: string): R | undefined; values(): Iterable<R> },
): R | "several" | undefined {
  const { session_id, run_id } = record.envelope;
  const same = live.get(runKey(session_id, run_id));
  if (same !== undefined || record.event.type === "run_start" || mayBeRunless(record)) return same;
  let found: R | undefined;
  for (const run of live.values()) {
    const { sessionId, runId } = run.source;
    if ((session_id === undefined) === (sessionId === undefined)) continue;
    if (run_id !== runId && (run_id !== undefined || session_id !== undefined)) continue;
    if (found !== undefined) return "several";
    found = run;
  }
  return found;
}
