/**
 * Reads the events of a session's live run that have one of the given types. Scans the records of that run, but parses
 * only those that may have such a type.
 */
import { createRecordReader } from "../../dialects/loom/decode.ts";
import type { Log } from "../../log/index.ts";
import { readPages } from "../../log/read-pages.ts";
import { assertSession } from "../../log/rules.ts";
import type { EventOf, EventType } from "../../protocol/index.ts";

/** An event of the live run, and where it is. */
export interface LiveEvent<T extends EventType> {
  readonly runId: string;
  readonly eventId: number;
  readonly event: EventOf<T>;
}

/** Yields the events in order; none if no run is live. Throws `unknown_session`. */
export async function* readLiveRun<T extends EventType>(
  log: Log,
  sessionId: string,
  types: readonly T[],
): AsyncGenerator<LiveEvent<T>, void, undefined> {
  const info = assertSession(await log.getSession(sessionId), sessionId);
  // A session has at most one live run, and it is the newest.
  const [latest] = await log.listRuns(sessionId, { limit: 1 });
  if (latest?.status !== "live") return;
  const { runId, firstId } = latest;
  const marks = types.map((type) => `"${type}"`);
  const read = createRecordReader();
  for await (const { texts } of readPages(log, info, Math.max(firstId, info.firstId) - 1))
    for (const text of texts) {
      if (!marks.some((mark) => text.includes(mark))) continue;
      const record = read(text);
      if (record?.envelope.run_id !== runId || !types.includes(record.event.type as T)) continue;
      yield { runId, eventId: record.envelope.event_id ?? 0, event: record.event as EventOf<T> };
    }
}
