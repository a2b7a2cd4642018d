/** Replays a recorded session to callbacks. */
import { AsyncLocalStorage } from "node:async_hooks";
import type { Log } from "../log/log.ts";
import type { AnyCallback } from "./callbacks/callback.ts";
import { CALLBACK_OPTIONS, type CallbackOptions, createCallbackQueues } from "./callbacks/callback-observer.ts";
import { createPayloadProjection, type ProjectPayloads } from "./callbacks/project-payloads.ts";
import { BoundedMap } from "../protocol/bounded-map.ts";
import { readOptions } from "../protocol/read-options.ts";
import { isTerminal } from "../protocol/record.ts";
import { replayRecords, type ReplayOptions } from "./replay-records.ts";

/** Options of `replayCallbacks`. */
export interface CallbackReplayOptions extends ReplayOptions, Omit<CallbackOptions, "maxBacklog" | "maxBacklogBytes"> {}

const MAX_LIVE_RUNS = 1000;

/**
 * Delivers the events of a recorded session to callbacks as if it happened now. Waits for each callback, so nothing is
 * dropped. Throws `unknown_session`, `unknown_run`, `cursor_invalid` or `cursor_ahead`.
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
  const runs = new BoundedMap<ProjectPayloads>(MAX_LIVE_RUNS);
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
