/**
 * Creates a Standard Schema from JSON Schema, for tools without a schema library. Supports the keywords below and
 * rejects others, because an unsupported keyword would not be checked.
 */
import { type Json, type JsonObject, LoomError } from "../protocol/index.ts";
import { isJsonObject } from "../protocol/json.ts";
import { findSchemaIssues } from "./from-json-schema.ts";
import type { StandardSchema } from "./standard-schema.ts";

const KEYWORDS: ReadonlySet<string> = new Set([
  "type",
  "properties",
  "required",
  "additionalProperties",
  "items",
  "enum",
  "minimum",
  "maximum",
  "minLength",
  "maxLength",
  "minItems",
  "maxItems",
  // Only for the model, not checked.
  "title",
  "description",
  "examples",
]);

/**
 * Creates the `input` schema of a tool from JSON Schema. `Input` must match the schema; the compiler cannot check it. A
 * null in an optional field counts as absent, because models often send one.
 *
 * Throws `tool_invalid` if the schema has an unsupported keyword.
 */
export function describeInput<Input>(schema: JsonObject): StandardSchema<Input> {
  assertKnown(schema, "");
  return {
    "~standard": {
      version: 1,
      vendor: "loom-agent",
      validate: (given) => {
        const value = dropAbsent(schema, given as Json);
        const issues = findSchemaIssues(schema, value);
        return issues.length > 0 ? { issues } : { value: value as Input };
      },
      jsonSchema: { input: () => schema },
    },
  };
}

function assertKnown(schema: Json | undefined, path: string): void {
  if (!isJsonObject(schema)) throw new LoomError("tool_invalid", `The schema at "${path}" must be an object`);
  const unknown = Object.keys(schema).find((keyword) => !KEYWORDS.has(keyword));
  if (unknown !== undefined)
    throw new LoomError("tool_invalid", `The schema at "${path}" has \`${unknown}\`, which is not supported`);
  for (const [name, inner] of Object.entries((schema["properties"] ?? {}) as JsonObject))
    assertKnown(inner, `${path}/${name}`);
  if (schema["items"] !== undefined) assertKnown(schema["items"], `${path}/items`);
  if (isJsonObject(schema["additionalProperties"])) assertKnown(schema["additionalProperties"], `${path}/*`);
}

/** Returns the value without optional fields that are null, unless their schema accepts null. */
function dropAbsent(schema: JsonObject, value: Json): Json {
  const { items, properties, required = [], additionalProperties } = schema;
  if (Array.isArray(value)) {
    const list = value as readonly Json[];
    return isJsonObject(items) ? list.map((item) => dropAbsent(items, item)) : list;
  }
  if (!isJsonObject(value)) return value;
  const declared: JsonObject = isJsonObject(properties) ? properties : {};
  const others = isJsonObject(additionalProperties) ? additionalProperties : {};
  const kept = Object.entries(value).flatMap(([name, inner]) => {
    const field = Object.hasOwn(declared, name) ? (declared[name] as JsonObject) : undefined;
    const isOptional = field !== undefined && !(required as readonly string[]).includes(name);
    return isOptional && inner === null && !acceptsNull(field) ? [] : [[name, dropAbsent(field ?? others, inner)]];
  });
  return Object.fromEntries(kept) as JsonObject;
}

function acceptsNull({ type }: JsonObject): boolean {
  return type === undefined || [type].flat().includes("null");
}
