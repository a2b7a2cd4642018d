/**
 * Creates a Standard Schema from JSON Schema, for tools without a schema library. Supports the keywords below and
 * rejects others, because an unsupported keyword would not be checked.
 */
import { type Json, type JsonObject, LoomError } from "../protocol/index.ts";
import { isJsonObject } from "../protocol/json.ts";
import { describeValue } from "../protocol/fault.ts";
import type { StandardIssue, StandardSchema } from "./standard-schema.ts";

type IssuePath = readonly (string | number)[];
type ReportIssue = (path: IssuePath, message: string) => void;

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
      validate: (value) => {
        const issues: StandardIssue[] = [];
        const made = check(schema, value, [], (path, message) => issues.push({ path, message }));
        return issues.length > 0 ? { issues } : { value: made as Input };
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

function check(schema: JsonObject, value: unknown, path: IssuePath, report: ReportIssue): unknown {
  const types = [schema["type"] ?? []].flat() as readonly string[];
  if (types.length > 0 && !types.some((type) => isOfType(type, value))) {
    const expected = types.map((type) => NAMES[type] ?? type).join(" or ");
    report(
      path,
      value === undefined ? `is missing; it must be ${expected}` : `must be ${expected}, not ${describeValue(value)}`,
    );
    return value;
  }
  const options = schema["enum"] as readonly Json[] | undefined;
  if (options !== undefined && !options.includes(value as Json)) {
    report(
      path,
      `must be one of ${options.map((option) => JSON.stringify(option)).join(", ")}, not ${describeValue(value)}`,
    );
    return value;
  }
  checkSize(schema, value, path, report);
  if (Array.isArray(value)) return checkItems(schema, value, path, report);
  return isJsonObject(value) ? checkFields(schema, value, path, report) : value;
}

function checkItems(schema: JsonObject, value: readonly unknown[], path: IssuePath, report: ReportIssue): unknown {
  const items = schema["items"] as JsonObject | undefined;
  return items === undefined ? value : value.map((item, index) => check(items, item, [...path, index], report));
}

function checkFields(schema: JsonObject, value: JsonObject, path: IssuePath, report: ReportIssue): unknown {
  const { properties = {}, required = [], additionalProperties: others } = schema;
  const declared = properties as { readonly [name: string]: JsonObject };
  const needed = required as readonly string[];
  const made: [string, unknown][] = [];
  for (const [name, inner] of Object.entries(value)) {
    const field = Object.hasOwn(declared, name) ? declared[name] : isJsonObject(others) ? others : undefined;
    const isAbsent = inner === null && !needed.includes(name) && Object.hasOwn(declared, name) && !acceptsNull(field);
    if (isAbsent) continue;
    if (field === undefined && others === false) report([...path, name], "is not a known field");
    made.push([name, field === undefined ? inner : check(field, inner, [...path, name], report)]);
  }
  for (const name of needed)
    if (!Object.hasOwn(value, name)) check(declared[name] ?? { type: "any" }, undefined, [...path, name], report);
  return Object.fromEntries(made);
}

function checkSize(schema: JsonObject, value: unknown, path: IssuePath, report: ReportIssue): void {
  const [size, unit, low, high] =
    typeof value === "string"
      ? [value.length, " characters", schema["minLength"], schema["maxLength"]]
      : Array.isArray(value)
        ? [value.length, " items", schema["minItems"], schema["maxItems"]]
        : [value, "", schema["minimum"], schema["maximum"]];
  if (typeof size !== "number") return;
  const verb = unit === "" ? "must be" : "must have";
  if (typeof low === "number" && size < low) report(path, `${verb} at least ${low}${unit}, not ${size}`);
  if (typeof high === "number" && size > high) report(path, `${verb} at most ${high}${unit}, not ${size}`);
}

const NAMES: { readonly [type: string]: string } = {
  string: "a string",
  number: "a number",
  integer: "an integer",
  boolean: "true or false",
  array: "an array",
  object: "an object",
  any: "given",
};

function isOfType(type: string, value: unknown): boolean {
  switch (type) {
    case "number":
      return Number.isFinite(value);
    case "integer":
      return Number.isInteger(value);
    case "array":
      return Array.isArray(value);
    case "null":
      return value === null;
    case "object":
      return isJsonObject(value);
    default:
      return typeof value === type;
  }
}

function acceptsNull(schema: JsonObject | undefined): boolean {
  const type = schema?.["type"];
  return type === undefined || [type].flat().includes("null");
}
