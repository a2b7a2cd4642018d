/**
 * Records that depend only on the session and the event ID, so that a reader can verify that a store returns what was
 * written.
 */
import { createEntry } from "../../src/log/entry.ts";
import type { Log, LogEntry } from "../../src/log/log.ts";
import type { AnyEvent, StampedRecord } from "../../src/protocol/index.ts";

/** Records per run. */
const RUN = 50;

export function createKnownRecord(sessionId: string, id: number): StampedRecord {
  const index = (id - 1) % RUN;
  const run_id = `run-${Math.floor((id - 1) / RUN)}`;
  const first_event_id = id - index;
  const last_event_id = first_event_id + RUN - 1;
  const event: AnyEvent =
    index === 0
      ? { type: "run_start", run_id, contiguous: true }
      : index === RUN - 2
        ? { type: "run_end", status: "completed", first_event_id, last_event_id, frame_count: RUN }
        : index === RUN - 1
          ? { type: "reply", reply: "" }
          : { type: "custom", value: { n: id * 7919, text: "x".repeat((id * 31) % 300) } };
  return { envelope: { session_id: sessionId, run_id, event_id: id, ts: 1_700_000_000_000 + id }, event };
}

export function createKnownEntries(sessionId: string, after: number, count: number): LogEntry[] {
  return Array.from({ length: count }, (_, index) => createEntry(createKnownRecord(sessionId, after + 1 + index)));
}

/** Reads a session after `after` to its end and returns the last ID. Throws at the first unexpected record. */
export async function verifyKnownRecords(log: Log, sessionId: string, after = 0): Promise<number> {
  for (;;) {
    const page = await log.read(sessionId, { after });
    if (page.isEmpty) return after;
    for (const text of page.texts) {
      after++;
      const expected = createEntry(createKnownRecord(sessionId, after)).text;
      if (text !== expected) throw new Error(`record ${after} of ${sessionId} is ${text}; expected ${expected}`);
    }
  }
}
