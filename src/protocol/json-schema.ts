/**
 * Generates JSON Schema (2020-12) from the declarations. Unknown fields are always allowed, because later versions may
 * add some.
 */
import { dropUndefined } from "./drop-undefined.ts";
import type { Field, Fields, Schema, Shape } from "./schema.ts";
import type { JsonObject } from "./json.ts";

export interface SchemaOptions {
  /** Envelope fields to list next to the payload. */
  readonly beside?: Fields;
  /** False for a frame that is sent without `type`. */
  readonly tagged?: boolean;
  /** Field that has the tag. Default: `type`. */
  readonly tagField?: string;
}

/** Returns the schema of one shape, with its tag as the `type`. */
export function shapeSchema(tag: string, shape: Shape, options: SchemaOptions = {}): JsonObject {
  const { beside = {}, tagged = true, tagField = "type" } = options;
  const object = fieldsSchema({ ...beside, ...shape.fields });
  const properties = object["properties"] as JsonObject;
  const required = object["required"] as readonly string[];
  return {
    title: tag,
    description: `${shape.about} (${shape.section}).`,
    type: "object",
    properties: tagged ? { [tagField]: { const: tag }, ...properties } : properties,
    required: tagged ? [tagField, ...required] : required,
  };
}

/** Returns the schema that matches any of the given ones, for all shapes of a dialect. */
export function unionSchema(title: string, schemas: { readonly [tag: string]: JsonObject }): JsonObject {
  return {
    $schema: "https://json-schema.org/draft/2020-12/schema",
    title,
    anyOf: Object.keys(schemas).map((tag) => ({ $ref: `#/$defs/${tag}` })),
    $defs: schemas,
  };
}

function fieldsSchema(fields: Fields): JsonObject {
  const entries = Object.entries(fields);
  return {
    type: "object",
    properties: Object.fromEntries(entries.map(([name, field]) => [name, fieldSchema(field)])),
    required: entries.filter(([, field]) => field.required).map(([name]) => name),
  };
}

function fieldSchema(field: Field): JsonObject {
  const description = field.about;
  // null in an optional field means that it is absent.
  const schema = field.required ? schemaOf(field.schema) : orNull(schemaOf(field.schema));
  return { ...schema, description };
}

function orNull(schema: JsonObject): JsonObject {
  if (typeof schema["type"] === "string") {
    const { enum: values } = schema;
    return {
      ...schema,
      type: [schema["type"], "null"],
      ...(Array.isArray(values) ? { enum: [...(values as string[]), null] } : {}),
    };
  }
  return Object.keys(schema).length === 0 ? schema : { anyOf: [schema, { type: "null" }] };
}

function schemaOf(schema: Schema): JsonObject {
  switch (schema.kind) {
    case "string":
    case "boolean":
      return { type: schema.kind };
    case "number":
    case "integer":
      return dropUndefined({ type: schema.kind, minimum: schema.min, maximum: schema.max });
    case "json":
      return {};
    case "map":
      return { type: "object" };
    case "enum":
      return { type: "string", enum: schema.values };
    case "open-enum":
      return { type: "string", examples: schema.values };
    case "array":
      return { type: "array", items: schemaOf(schema.items) };
    case "object":
      return fieldsSchema(schema.fields);
    case "union":
      return { anyOf: schema.options.map(schemaOf) };
    case "nullable":
      return orNull(schemaOf(schema.of));
  }
}
