/** Replays a recorded session to observers, to get metrics, traces and logs of runs that were not observed live. */
import type { Log } from "../log/log.ts";
import { BoundedMap } from "../protocol/bounded-map.ts";
import { isTerminal } from "../protocol/record.ts";
import { ObserverGroup, type RunObservers } from "./observer-group.ts";
import type { Observer } from "./observer.ts";
import { replayRecords, type ReplayOptions } from "./replay-records.ts";

/** Options of `replayObservers`. */
export interface ObserverReplayOptions extends ReplayOptions {
  /** Receives the first error of each observer. Default: errors are ignored. */
  readonly onError?: (error: unknown) => void;
}

const MAX_LIVE_RUNS = 1000;

/**
 * Passes the records of a recorded session to observers as if it happened now. Runs that have not ended are closed as
 * unfinished. Errors of observers go to `onError`. Throws `unknown_session`, `unknown_run`, `cursor_invalid` or
 * `cursor_ahead`.
 */
export async function replayObservers(
  log: Log,
  sessionId: string,
  observers: readonly Observer[],
  { onError, ...options }: ObserverReplayOptions = {},
): Promise<void> {
  const group = new ObserverGroup(observers, onError);
  const runs = new BoundedMap<RunObservers>(MAX_LIVE_RUNS, (run) => run.close(true));
  let runless: RunObservers | undefined;
  try {
    for await (const { record, isPast } of replayRecords(log, sessionId, options)) {
      const { run_id: runId } = record.envelope;
      if (runId === undefined) {
        runless ??= group.openRun({ sessionId, runId });
        runless.take(record, isPast);
        continue;
      }
      const run = runs.getOrCreate(runId, () => group.openRun({ sessionId, runId }));
      run.take(record, isPast);
      if (!isTerminal(record.event)) continue;
      runs.delete(runId);
      run.close(false);
    }
  } finally {
    for (const run of runs.values()) run.close(true);
    runless?.close(true);
  }
}
