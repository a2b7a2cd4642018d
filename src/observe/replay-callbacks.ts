/**
 * Tells callbacks of a recorded session what they would have been told live. Here they are waited for: nothing is dropped.
 */
import { AsyncLocalStorage } from "node:async_hooks";
import type { Log } from "../log/log.ts";
import type { Callback } from "./callbacks/callback.ts";
import { type CallbackOptions, createLanes } from "./callbacks/callback-observer.ts";
import { createPayloadProjection, type ProjectPayloads } from "./callbacks/project-payloads.ts";
import { BoundedMap, isTerminal } from "../protocol/index.ts";
import { replayRecords, type ReplayOptions } from "./replay-records.ts";

export interface CallbackReplayOptions extends ReplayOptions, Omit<CallbackOptions, "maxBacklog" | "maxBacklogBytes"> {}

const MAX_LIVE_RUNS = 1000;

export async function replayCallbacks(
  log: Log,
  sessionId: string,
  callbacks: readonly Callback[],
  options: CallbackReplayOptions = {},
): Promise<void> {
  const { signal } = options;
  const lanes = createLanes(callbacks, options, { isAwaited: true });
  const text = lanes.some(({ wantsText }) => wantsText);
  const runs = new BoundedMap<ProjectPayloads>(MAX_LIVE_RUNS);
  const inContext = AsyncLocalStorage.snapshot();
  try {
    for await (const { record, isPast } of replayRecords(log, sessionId, options)) {
      const { run_id: runId = "" } = record.envelope;
      const payloads = runs.getOrCreate(runId, () => createPayloadProjection(text))(record);
      if (isTerminal(record.event) && runId !== "") runs.delete(runId);
      if (isPast) continue;
      for (const payload of payloads) {
        const told = lanes.filter(({ wantsText }) => wantsText || payload.type !== "text_delta");
        await Promise.all(told.map((lane) => lane.deliver({ payload, inContext }, signal)));
        signal?.throwIfAborted();
      }
    }
  } finally {
    for (const lane of lanes) lane.close();
  }
}
