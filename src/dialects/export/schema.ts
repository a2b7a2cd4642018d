/** JSON Schemas of the `export` dialect. Bodies that differ from the payload are declared here. */
import { EVENT_TYPES, type JsonObject } from "../../protocol/index.ts";
import { EVENTS, type SpecifiedType } from "../../protocol/events/index.ts";
import { shapeSchema } from "../../protocol/json-schema.ts";
import { isSpecified } from "../../protocol/record.ts";

const NAME = { node_id: { type: "string", description: "Name of the node" } };
const text = { type: "string" };

const BODIES: { readonly [T in SpecifiedType]?: (payload: JsonObject) => JsonObject } = {
  node_enter: () => objectSchema(NAME),
  node_exit: renamed,
  updates: renamed,
  got_node_start: () => objectSchema(NAME),
  got_node_complete: renamed,
  got_node_failed: renamed,
  message_chunk: () =>
    objectSchema({
      chunk: objectSchema({ content: text }),
      metadata: objectSchema({ loom_node: { ...text, description: "Name of the node" } }),
    }),
  values: () => ({ description: "The state itself" }),
  custom: () => ({ description: "The value itself" }),
};

function objectSchema(properties: JsonObject): JsonObject {
  return { type: "object", properties, required: Object.keys(properties) };
}

function renamed(payload: JsonObject): JsonObject {
  const { id: _id, ...properties } = payload["properties"] as JsonObject;
  const required = (payload["required"] as readonly string[]).map((name) => (name === "id" ? "node_id" : name));
  return { ...payload, properties: { ...NAME, ...properties }, required };
}

export function createExportSchemas(): { readonly [tag: string]: JsonObject } {
  const entries = EVENT_TYPES.filter(isSpecified).map((type): [string, JsonObject] => {
    const key = EVENTS[type].exportKey;
    const { title: _title, description, ...payload } = shapeSchema(type, EVENTS[type], { tagged: false });
    const body = BODIES[type]?.(payload) ?? payload;
    return [
      key,
      { title: key, description: description as string, ...objectSchema({ [key]: body }), additionalProperties: false },
    ];
  });
  return { ...Object.fromEntries(entries), reply: shapeSchema("reply", EVENTS.reply, { tagged: false }) };
}
