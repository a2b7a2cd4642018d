/**
 * Gives records a place in a session where they have none, so that any stream can be written in any dialect. Ids that
 * are there are kept; missing ones go on from the last. Times are never made up: an encoder that needs one and has none
 * writes 0.
 */
import { BoundedMap, type EventRecord, type StampedRecord } from "../protocol/index.ts";

const MAX_SESSIONS = 10_000;

export function createStamper(defaultSession = "session"): (record: EventRecord) => StampedRecord {
  const lastIds = new BoundedMap<number>(MAX_SESSIONS);
  return ({ envelope, event }) => {
    const session_id = envelope.session_id ?? defaultSession;
    const event_id = envelope.event_id ?? (lastIds.get(session_id) ?? 0) + 1;
    lastIds.set(session_id, event_id);
    return { envelope: { ...envelope, session_id, event_id }, event };
  };
}
