/**
 * What the writers of these tests write: the record at a place is known from the place alone, so that whoever reads a
 * store afterwards can tell whether it is the one that was written there.
 */
import { createEntry } from "../../src/log/entry.ts";
import type { Log, LogEntry } from "../../src/log/log.ts";
import type { AnyEvent, StampedRecord } from "../../src/protocol/index.ts";

/** Records of one run. */
const RUN = 50;

export function tellRecord(sessionId: string, id: number): StampedRecord {
  const place = (id - 1) % RUN;
  const run_id = `run-${Math.floor((id - 1) / RUN)}`;
  const first_event_id = id - place;
  const last_event_id = first_event_id + RUN - 1;
  const event: AnyEvent =
    place === 0
      ? { type: "run_start", run_id, contiguous: true }
      : place === RUN - 2
        ? { type: "run_end", status: "completed", first_event_id, last_event_id, frame_count: RUN }
        : place === RUN - 1
          ? { type: "reply", reply: "" }
          : { type: "custom", value: { n: id * 7919, text: "x".repeat((id * 31) % 300) } };
  return { envelope: { session_id: sessionId, run_id, event_id: id, ts: 1_700_000_000_000 + id }, event };
}

export function tellEntries(sessionId: string, after: number, count: number): LogEntry[] {
  return Array.from({ length: count }, (_, index) => createEntry(tellRecord(sessionId, after + 1 + index)));
}

/** Reads a session from `after` to its end; throws at the first record that is not the one written there. */
export async function proveStory(log: Log, sessionId: string, after = 0): Promise<number> {
  for (;;) {
    const page = await log.read(sessionId, { after });
    if (page.isEmpty) return after;
    for (const text of page.texts) {
      after++;
      const told = createEntry(tellRecord(sessionId, after)).text;
      if (text !== told) throw new Error(`record ${after} of ${sessionId} is ${text}, not ${told}`);
    }
  }
}
