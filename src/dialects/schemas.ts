/** JSON Schemas of the dialects, for `loom check --schema` and `spec/schema`. */
import type { JsonObject } from "../protocol/index.ts";
import { shapeSchema, unionSchema } from "../protocol/json-schema.ts";
import { type Dialect, FRAME_TAG_FIELDS } from "./dialect.ts";

/** Returns the JSON Schema of each frame of a dialect, keyed by its tag. */
export function dialectSchemas(dialect: Dialect): { readonly [tag: string]: JsonObject } {
  if (dialect.createSchemas !== undefined) return dialect.createSchemas();
  const tagField = FRAME_TAG_FIELDS[dialect.name] ?? "type";
  const frames = Object.entries(dialect.frames ?? {});
  return Object.fromEntries(frames.map(([tag, shape]) => [tag, shapeSchema(tag, shape, { tagField })]));
}

/** Returns the JSON Schema that matches every frame of a dialect. */
export function dialectSchema(dialect: Dialect): JsonObject {
  return unionSchema(dialect.title, dialectSchemas(dialect));
}
