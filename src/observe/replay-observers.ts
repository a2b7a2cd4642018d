/**
 * Shows a recorded session to observers as if it happened now: metrics, traces and logs of what was never observed.
 */
import type { Log } from "../log/log.ts";
import { BoundedMap, isTerminal } from "../protocol/index.ts";
import { Audience, type RunAudience } from "./audience.ts";
import type { Observer } from "./observer.ts";
import { replayRecords, type ReplayOptions } from "./replay-records.ts";

export interface ObserverReplayOptions extends ReplayOptions {
  /** Told of what observers throw, once per observer. */
  readonly onError?: (error: unknown) => void;
}

const MAX_LIVE_RUNS = 1000;

/** Runs that are not over when the session ends are closed as left. */
export async function replayObservers(
  log: Log,
  sessionId: string,
  observers: readonly Observer[],
  { onError, ...options }: ObserverReplayOptions = {},
): Promise<void> {
  const audience = new Audience(observers, onError);
  const runs = new BoundedMap<RunAudience>(MAX_LIVE_RUNS, (run) => run.close(true));
  let runless: RunAudience | undefined;
  try {
    for await (const { record, isPast } of replayRecords(log, sessionId, options)) {
      const { run_id: runId } = record.envelope;
      if (runId === undefined) {
        runless ??= audience.openRun({ sessionId, runId });
        runless.take(record, isPast);
        continue;
      }
      const run = runs.getOrCreate(runId, () => audience.openRun({ sessionId, runId }));
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
