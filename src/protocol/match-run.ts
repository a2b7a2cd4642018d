/** Assigns the records of a stream to its live runs: by session and run ID, as far as a record names them. */
import type { Envelope } from "./events.generated.ts";

/** The session and run ID that the first record of a run names. */
export interface NamedRun {
  readonly sessionId: string | undefined;
  readonly runId: string | undefined;
}

/** Different pairs have different keys. */
export function runKey(session: string | undefined, run: string | undefined): string {
  return `${session?.length ?? "-"}:${session ?? ""}${run === undefined ? "-" : `:${run}`}`;
}

/**
 * Finds the run of a record for which no run has the same session and run ID. Where only one of them names a session,
 * the run ID decides. A record that names neither belongs to the only live run. Returns "several" if more than one run
 * matches.
 */
export function matchRun<R extends NamedRun>(
  { session_id, run_id }: Envelope,
  live: Iterable<R>,
): R | "several" | undefined {
  let found: R | undefined;
  for (const run of live) {
    if ((session_id === undefined) === (run.sessionId === undefined)) continue;
    if (run_id !== run.runId && (run_id !== undefined || session_id !== undefined)) continue;
    if (found !== undefined) return "several";
    found = run;
  }
  return found;
}
