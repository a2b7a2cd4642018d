/**
 * JSON Schemas of the dialects, for `loom schema` and `spec/schema`. They are derived from the event declarations
 * (`loom`, `export`) or from the dialect's frames.
 */
import {
  ENVELOPE,
  EVENT_TYPES,
  EVENTS,
  type Fields,
  type JsonObject,
  SPAN_NODE_ID,
  shapeSchema,
  unionSchema,
} from "../protocol/index.ts";
import type { Dialect } from "./dialect.ts";
import { exportSchemas } from "./export/schema.ts";

/** Returns the schema of each frame, keyed by tag. */
export function dialectSchemas(dialect: Dialect): { readonly [tag: string]: JsonObject } {
  if (dialect.name === "loom") return Object.fromEntries(EVENT_TYPES.map((type) => [type, loomSchema(type)]));
  if (dialect.name === "export") return exportSchemas();
  return Object.fromEntries(Object.entries(dialect.frames ?? {}).map(([tag, shape]) => [tag, shapeSchema(tag, shape)]));
}

/** Returns the JSON Schema that matches every frame of a dialect. */
export function dialectSchema(dialect: Dialect): JsonObject {
  return unionSchema(dialect.title, dialectSchemas(dialect));
}

function loomSchema(type: (typeof EVENT_TYPES)[number]): JsonObject {
  const { node_id: _node, ...others } = ENVELOPE.fields;
  const beside: Fields = type === "got_expand" ? { ...others, span_node_id: SPAN_NODE_ID } : ENVELOPE.fields;
  return shapeSchema(type, EVENTS[type], { beside, tagged: type !== "reply" });
}
