/** JSON Schemas of the dialects, for `loom schema` and `spec/schema`. */
import type { JsonObject } from "../protocol/index.ts";
import { shapeSchema, unionSchema } from "../protocol/json-schema.ts";
import type { Dialect } from "./dialect.ts";

/** Returns the JSON Schema of each frame of a dialect, keyed by its tag. */
export function dialectSchemas(dialect: Dialect): { readonly [tag: string]: JsonObject } {
  if (dialect.createSchemas !== undefined) return dialect.createSchemas();
  return Object.fromEntries(Object.entries(dialect.frames ?? {}).map(([tag, shape]) => [tag, shapeSchema(tag, shape)]));
}

/** Returns the JSON Schema that matches every frame of a dialect. */
export function dialectSchema(dialect: Dialect): JsonObject {
  return unionSchema(dialect.title, dialectSchemas(dialect));
}
