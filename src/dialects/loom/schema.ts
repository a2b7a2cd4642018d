/** JSON Schemas of the `loom` dialect, derived from the event declarations. */
import {
  ENVELOPE,
  EVENT_TYPES,
  EVENTS,
  type EventType,
  type Fields,
  type JsonObject,
  SPAN_NODE_ID,
  shapeSchema,
} from "../../protocol/index.ts";

export function createLoomSchemas(): { readonly [type: string]: JsonObject } {
  return Object.fromEntries(EVENT_TYPES.map((type) => [type, createLoomSchema(type)]));
}

function createLoomSchema(type: EventType): JsonObject {
  const { node_id: _node, ...others } = ENVELOPE.fields;
  const beside: Fields = type === "got_expand" ? { ...others, span_node_id: SPAN_NODE_ID } : ENVELOPE.fields;
  return shapeSchema(type, EVENTS[type], { beside, tagged: type !== "reply" });
}
