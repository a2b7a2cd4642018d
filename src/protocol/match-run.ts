/** Assigns the records of a stream to its live runs: by session and run ID, as far as a record names them. */
import { type EventRecord, opensNoRun } from "./record.ts";

/** The session and run ID that the first record of a run names. */
export interface NamedRun {
  readonly sessionId: string | undefined;
  readonly runId: string | undefined;
}

/** Different pairs have different keys. */
export function runKey(session: string | undefined, run: string | undefined): string {
  return `${sessionPrefix(session)}${run === undefined ? "-" : `:${run}`}`;
}

/** The beginning of the keys of all runs of the session, and of no others: its length says where the session ID ends. */
export function sessionPrefix(session: string | undefined): string {
  return `${session?.length ?? "-"}:${session ?? ""}`;
}

/**
 * Finds the run of a record among the live runs, which are stored by `runKey`. If none has the same session and run ID, a
 * run matches if either it or the record names a session, but not both, and the run IDs agree: they are equal, or the
 * record names neither session nor run. Returns "several" if more than one run matches.
 */
export function matchRun<R extends { readonly source: NamedRun }>(
  record: EventRecord,
  live: { get(key: string): R | undefined; values(): Iterable<R> },
): R | "several" | undefined {
  const { session_id, run_id } = record.envelope;
  const same = live.get(runKey(session_id, run_id));
  if (same !== undefined || record.event.type === "run_start") return same;
  if (run_id === undefined && opensNoRun(record.event)) return undefined;
  const namesNeither = session_id === undefined && run_id === undefined;
  let found: R | undefined;
  for (const run of live.values()) {
    const { sessionId, runId } = run.source;
    const oneNamesSession = (session_id === undefined) !== (sessionId === undefined);
    const fits = run_id === runId || namesNeither;
    if (!oneNamesSession || !fits) continue;
    if (found !== undefined) return "several";
    found = run;
  }
  return found;
}
