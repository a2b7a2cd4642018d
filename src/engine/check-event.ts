/**
 * What every event must pass on its way in: its declaration, and no field that could be mistaken for the envelope's.
 */
import { dropNulls } from "../dialects/loom/decode.ts";
import { type AnyEvent, dropEnvelopeNames, findEventFault, isJsonObject, LoomError } from "../protocol/index.ts";

/** The event without nulls in optional fields; throws `invalid_event`, which names the field. */
export function checkEvent(event: AnyEvent): AnyEvent {
  const fault = findEventFault(event);
  if (fault !== undefined) {
    const type = isJsonObject(event) && typeof event["type"] === "string" ? event["type"] : "event";
    throw new LoomError("invalid_event", `\`${type}\`: ${fault.message}`, { path: fault.path, rule: fault.rule });
  }
  const clean = dropEnvelopeNames(event);
  const spoofed = event.type === "got_expand" && "span_node_id" in event ? "span_node_id" : findMissing(event, clean);
  if (spoofed !== undefined)
    throw new LoomError("invalid_event", `\`${event.type}\`: \`${spoofed}\` belongs to the envelope`, {
      path: spoofed,
    });
  return dropNulls(event);
}

function findMissing(event: AnyEvent, clean: AnyEvent): string | undefined {
  return event === clean ? undefined : Object.keys(event).find((name) => !Object.hasOwn(clean, name));
}
