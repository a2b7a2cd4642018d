/**
 * Adds session and event IDs to records that have none, so that any stream can be encoded in any dialect. Existing IDs
 * are kept; missing ones continue from the last. Times are never invented: an encoder that needs one and has none
 * writes 0.
 */
import type { EventRecord, StampedRecord } from "../protocol/index.ts";
import { BoundedMap } from "../protocol/bounded-map.ts";

const MAX_SESSIONS = 10_000;

/**
 * Creates a function that returns the records of one stream with a session ID and an event ID. `defaultSession` is used
 * for records without a session ID; records without an event ID are numbered per session.
 *
 * ```ts
 * const stamp = createStamper("chat-7");
 * const { envelope } = stamp({ envelope: {}, event: { type: "run_start" } }); // session_id "chat-7", event_id 1
 * ```
 */
export function createStamper(defaultSession = "session"): (record: EventRecord) => StampedRecord {
  const lastIds = new BoundedMap<number>(MAX_SESSIONS);
  return ({ envelope, event }) => {
    const session_id = envelope.session_id ?? defaultSession;
    const event_id = envelope.event_id ?? (lastIds.get(session_id) ?? 0) + 1;
    lastIds.set(session_id, event_id);
    return { envelope: { ...envelope, session_id, event_id }, event };
  };
}
