/** The event as strict form sends it: with every field that 001 §4.2 requires, and none that it does not define. */
import type { CheckpointEvent } from "../protocol/events.generated.ts";
import { EVENTS } from "../protocol/events/index.ts";
import { type JsonObject, keepFields } from "../protocol/json.ts";
import { type AnyEvent, isKnownEvent } from "../protocol/record.ts";
import type { Fields } from "../protocol/schema.ts";
import { fitsStrictForm } from "../protocol/strict.ts";

/** Returns an event of an extension type unchanged: `custom` carries it with all its fields. */
export function toStrictEvent(event: AnyEvent, sessionId: string): AnyEvent {
  if (!isKnownEvent(event) || !fitsStrictForm(event)) return event;
  const fields: Fields = EVENTS[event.type].fields;
  const isDefined = (name: string): boolean => name === "type" || fields[name]?.additional === false;
  return keepFields(completeEvent(event, sessionId) as JsonObject, isDefined) as AnyEvent;
}

/** Returns the event with every field that 001 §4.2 requires. Stored checkpoints may lack `thread_id` and `checkpoint_ns`. */
function completeEvent(event: AnyEvent, sessionId: string): AnyEvent {
  if (event.type !== "checkpoint") return event;
  const { thread_id = sessionId, checkpoint_ns = "" } = event as CheckpointEvent;
  return { ...event, thread_id, checkpoint_ns };
}
