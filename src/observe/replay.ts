/** Replays a recorded session to observers and callbacks, which then receive what they would have received live. */
import { AsyncLocalStorage } from "node:async_hooks";
import { followRecords } from "../log/follow-records.ts";
import type { Log } from "../log/log.ts";
import { assertPosition, assertRun, assertSession } from "../log/rules.ts";
import { BoundedMap } from "../protocol/bounded-map.ts";
import type { StampedRecord } from "../protocol/index.ts";
import { readOptions } from "../protocol/read-options.ts";
import { isTerminal } from "../protocol/record.ts";
import type { AnyCallback } from "./callbacks/callback.ts";
import { CALLBACK_OPTIONS, type CallbackOptions, createCallbackQueues } from "./callbacks/callback-observer.ts";
import { createPayloadProjection, type ProjectPayloads } from "./callbacks/project-payloads.ts";
import { createRecordCompleter } from "./complete-records.ts";
import { ObserverGroup, type RunObservers } from "./observer-group.ts";
import type { Observer } from "./observer.ts";

/** The part of a session to replay. */
export interface ReplayOptions {
  /** Replay only this run; code `unknown_run`. Default: all runs. */
  readonly runId?: string;
  /** Id of the last record to skip; codes `cursor_invalid`, `cursor_ahead`. Default: 0, the start of the session. */
  readonly after?: number;
  /** Stops the replay, which then throws the reason of the signal. */
  readonly signal?: AbortSignal;
}

/** Options of `replayObservers`. */
export interface ObserverReplayOptions extends ReplayOptions {
  /** Receives the first error of each observer. Default: errors are ignored. */
  readonly onError?: (error: unknown) => void;
}

/** Options of `replayCallbacks`. */
export interface CallbackReplayOptions extends ReplayOptions, Omit<CallbackOptions, "maxBacklog" | "maxBacklogBytes"> {}

/** Maximum runs that are remembered at once. */
const MAX_RUNS = 1000;

/**
 * Passes the records of a recorded session to observers as if it happened now. Runs that have not ended are closed as
 * unfinished. Errors of observers go to `onError`. Throws `unknown_session`, `unknown_run`, `cursor_invalid` or
 * `cursor_ahead`.
 *
 * ```ts
 * await replayObservers(log, "chat-7", [await createTraceObserver()]);
 * ```
 */
export async function replayObservers(
  log: Log,
  sessionId: string,
  observers: readonly Observer[],
  { onError, ...options }: ObserverReplayOptions = {},
): Promise<void> {
  const group = new ObserverGroup(observers, onError);
  const runs = new BoundedMap<RunObservers>(MAX_RUNS, (run) => run.close(true));
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

/**
 * Delivers the events of a recorded session to callbacks as if it happened now. Waits for each callback, so nothing is
 * dropped. Throws `unknown_session`, `unknown_run`, `cursor_invalid` or `cursor_ahead`.
 *
 * ```ts
 * await replayCallbacks(log, "chat-7", [{ onEvent: (type) => console.log(type) }]);
 * ```
 */
export async function replayCallbacks(
  log: Log,
  sessionId: string,
  callbacks: readonly AnyCallback[],
  options: CallbackReplayOptions = {},
): Promise<void> {
  const { signal } = options;
  const own = readOptions(CALLBACK_OPTIONS, options, { isPart: true });
  const queues = createCallbackQueues(callbacks, own, { isAwaited: true });
  const text = queues.some(({ wantsText }) => wantsText);
  const runs = new BoundedMap<ProjectPayloads>(MAX_RUNS);
  const inContext = AsyncLocalStorage.snapshot();
  try {
    for await (const { record, isPast } of replayRecords(log, sessionId, options)) {
      const { run_id: runId = "" } = record.envelope;
      const payloads = runs.getOrCreate(runId, () => createPayloadProjection(text))(record);
      if (isTerminal(record.event) && runId !== "") runs.delete(runId);
      if (isPast) continue;
      for (const payload of payloads) {
        const recipients = queues.filter(({ wantsText }) => wantsText || payload.type !== "text_delta");
        await Promise.all(recipients.map((queue) => queue.deliver({ payload, inContext }, signal)));
        signal?.throwIfAborted();
      }
    }
  } finally {
    for (const queue of queues) queue.close();
  }
}

interface ReplayedRecord {
  readonly record: StampedRecord;
  readonly isPast: boolean;
}

/**
 * Yields records up to the end of the session at that time. If the replay starts within a run, the earlier records of that
 * run are included and marked as past.
 */
async function* replayRecords(
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
  const known = new BoundedMap<boolean>(MAX_RUNS);
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
