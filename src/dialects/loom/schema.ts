/** JSON Schemas of the `loom` dialect, derived from the event declarations. */
import { EVENT_TYPES, type EventType, type JsonObject } from "../../protocol/index.ts";
import { ENVELOPE, SPAN_NODE_ID } from "../../protocol/envelope.ts";
import { EVENTS } from "../../protocol/events/index.ts";
import { shapeSchema } from "../../protocol/json-schema.ts";
import type { Fields } from "../../protocol/schema.ts";

export function createLoomSchemas(): { readonly [type: string]: JsonObject } {
  return Object.fromEntries(EVENT_TYPES.map((type) => [type, createLoomSchema(type)]));
}

function createLoomSchema(type: EventType): JsonObject {
  const { node_id: _node, ...others } = ENVELOPE.fields;
  const beside: Fields = type === "got_expand" ? { ...others, span_node_id: SPAN_NODE_ID } : ENVELOPE.fields;
  return shapeSchema(type, EVENTS[type], { beside, tagged: type !== "reply" });
}
