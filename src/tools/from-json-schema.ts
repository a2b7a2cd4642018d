/**
 * Checks values against JSON Schema, and creates a Standard Schema from JSON Schema that a client sent. Such a schema is
 * untrusted: its keywords are checked first, and the work of a validation is limited.
 *
 * `pattern` and `format` only guide the model: a regular expression of a client could block the process. As in JSON
 * Schema itself, unknown keywords have no effect. Keywords that would have one, but are not implemented, are refused.
 */
import { type Json, type JsonObject, LoomError } from "../protocol/index.ts";
import { describeValue } from "../protocol/fault.ts";
import { isJsonObject, isSameJson, toJsonObject } from "../protocol/json.ts";
import { findLimitFaults } from "./find-limit-faults.ts";
import type { StandardIssue, StandardSchema } from "./standard-schema.ts";

type ValuePath = readonly (string | number)[];
/** A schema, or a boolean: true accepts every value, false none. */
type SchemaNode = JsonObject | boolean;

/** Maximum work of one validation, in fields and options that are compared, and maximum depth. */
const MAX_WORK = 400_000;
/** Work of comparing a value with a schema, without its fields. */
const WORK_PER_VALUE = 4;
const MAX_DEPTH = 400;
/** Maximum issues of a part; the model receives only a few. */
const MAX_ISSUES = 50;

const TYPES: { readonly [type: string]: readonly [string, (value: unknown) => boolean] } = {
  string: ["a string", (value) => typeof value === "string"],
  number: ["a number", (value) => typeof value === "number"],
  integer: ["an integer", Number.isInteger],
  boolean: ["true or false", (value) => typeof value === "boolean"],
  null: ["null", (value) => value === null],
  array: ["an array", Array.isArray],
  object: ["an object", isJsonObject],
};

/** Keywords whose value is a schema, a list of schemas, or schemas by name. */
const ONE = ["additionalProperties", "additionalItems", "propertyNames", "items", "not"];
const MANY = ["anyOf", "oneOf", "allOf", "prefixItems", "items"];
const NAMED = ["properties", "$defs", "definitions"];
/** Keywords that restrict values, and are not implemented. */
const REFUSED: ReadonlySet<string> = new Set([
  "$dynamicRef",
  "$recursiveRef",
  "$anchor",
  "$dynamicAnchor",
  "contains",
  "minContains",
  "maxContains",
  "dependencies",
  "dependentRequired",
  "dependentSchemas",
  "if",
  "then",
  "else",
  "patternProperties",
  "unevaluatedItems",
  "unevaluatedProperties",
  "uniqueItems",
]);

/** Throws `invalid_command` if the schema is not valid, or has a keyword that cannot be checked. */
export function fromJsonSchema(schema: JsonObject): StandardSchema {
  const nodes = new Set<unknown>();
  const refs: (readonly [string, Json])[] = [];
  assertSchema(schema, "#", nodes, refs);
  for (const [path, ref] of refs)
    if (typeof ref !== "string" || !nodes.has(resolve(schema, ref)))
      throw invalid(path, `has a \`$ref\` to ${describeValue(ref)}, which is not a part of the schema`);
  return {
    "~standard": {
      version: 1,
      vendor: "loom-agent",
      validate: (value) => {
        const issues = findSchemaIssues(schema, value as Json, MAX_WORK);
        return issues.length > 0 ? { issues } : { value };
      },
    },
  };
}

/**
 * Returns what is wrong with the value. The schema must be valid. Throws if the check takes more work than `maxWork`;
 * without `$ref` and alternatives, the work grows with the value only.
 */
export function findSchemaIssues(schema: JsonObject, value: Json, maxWork = Infinity): readonly StandardIssue[] {
  return new SchemaCheck(schema, maxWork).find(schema, value, []);
}

/** Collects the parts that are schemas, and the references with their positions. */
function assertSchema(
  node: unknown,
  path: string,
  nodes: Set<unknown>,
  refs: (readonly [string, Json])[],
): asserts node is SchemaNode {
  if (typeof node === "boolean") return;
  if (!isJsonObject(node)) throw invalid(path, `must be a schema, not ${describeValue(node)}`);
  nodes.add(node);
  const refused = Object.keys(node).find((keyword) => REFUSED.has(keyword));
  if (refused !== undefined) throw invalid(path, `has \`${refused}\`, which is not supported`);
  const { type, required, enum: options } = node;
  const types = type === undefined ? [] : Array.isArray(type) ? (type as readonly Json[]) : [type];
  const unknown = types.find((name) => typeof name !== "string" || !Object.hasOwn(TYPES, name));
  if (unknown !== undefined) throw invalid(path, `has the unknown type ${describeValue(unknown)}`);
  if (options !== undefined && !Array.isArray(options)) throw invalid(path, "needs a list as `enum`");
  if (required !== undefined && !(Array.isArray(required) && required.every((name) => typeof name === "string")))
    throw invalid(path, "needs a list of names as `required`");
  if (node["$ref"] !== undefined) refs.push([path, node["$ref"]]);
  const check = (inner: unknown, at: string): void => assertSchema(inner, `${path}/${at}`, nodes, refs);
  for (const keyword of new Set([...ONE, ...MANY])) {
    const value = node[keyword];
    if (value === undefined) continue;
    if (MANY.includes(keyword) && Array.isArray(value))
      for (const [index, inner] of value.entries()) check(inner, `${keyword}/${index}`);
    else if (ONE.includes(keyword)) check(value, keyword);
    else throw invalid(path, `needs a list of schemas as \`${keyword}\``);
  }
  for (const keyword of NAMED) {
    const named = node[keyword];
    if (named !== undefined && !isJsonObject(named)) throw invalid(path, `needs an object as \`${keyword}\``);
    for (const [name, inner] of Object.entries(named ?? {})) check(inner, `${keyword}/${name}`);
  }
}

/** Finds what a JSON pointer such as `#/$defs/city` names. */
function resolve(root: JsonObject, ref: string): unknown {
  if (ref !== "#" && !ref.startsWith("#/")) return undefined;
  let found: unknown = root;
  for (const token of ref === "#" ? [] : ref.slice(2).split("/")) {
    const name = token.replaceAll("~1", "/").replaceAll("~0", "~");
    if (typeof found !== "object" || found === null || !Object.hasOwn(found, name)) return undefined;
    found = (found as { readonly [name: string]: unknown })[name];
  }
  return found;
}

/** One validation. Throws if it takes too much work. */
class SchemaCheck {
  readonly #root: JsonObject;
  readonly #maxWork: number;
  #work = 0;
  #depth = 0;

  constructor(root: JsonObject, maxWork: number) {
    this.#root = root;
    this.#maxWork = maxWork;
  }

  find(schema: SchemaNode | undefined, value: Json, path: ValuePath): readonly StandardIssue[] {
    if (schema === undefined || schema === true) return [];
    if (schema === false) return [{ path, message: "is not allowed" }];
    this.#work += WORK_PER_VALUE + sizeOf(value) + sizeOf(schema["enum"]) + sizeOf(schema["required"]);
    if (this.#work > this.#maxWork || this.#depth >= MAX_DEPTH) throw new Error("The schema takes too much work");
    this.#depth++;
    const issues = this.#findAll(schema, value, path);
    this.#depth--;
    return issues.slice(0, MAX_ISSUES);
  }

  #findAll(schema: JsonObject, value: Json, path: ValuePath): readonly StandardIssue[] {
    const { type, enum: options, $ref: ref } = schema;
    const report = (message: string): readonly StandardIssue[] => [{ path, message }];
    const types = listTypes(type);
    if (types.length > 0 && !types.some((name) => TYPES[name]?.[1](value)))
      return report(`must be ${describeTypes(types)}, not ${describeValue(value)}`);
    if (Array.isArray(options) && !options.some((option) => isSameJson(option as Json, value))) {
      const expected = options.map((option) => JSON.stringify(option)).join(", ");
      return report(`must be one of ${expected}, not ${describeValue(value)}`);
    }
    if ("const" in schema && !isSameJson(schema["const"], value))
      return report(`must be ${JSON.stringify(schema["const"])}`);
    return [
      ...findLimitFaults(schema, value).flatMap(report),
      ...(typeof ref === "string" ? this.find(resolve(this.#root, ref) as SchemaNode, value, path) : []),
      ...(Array.isArray(value) ? this.#findInItems(schema, value as readonly Json[], path) : []),
      ...(isJsonObject(value) ? this.#findInFields(schema, value, path) : []),
      ...this.#findInCombined(schema, value, path),
    ];
  }

  #findInItems(schema: JsonObject, values: readonly Json[], path: ValuePath): readonly StandardIssue[] {
    const { items, additionalItems, prefixItems = Array.isArray(items) ? items : [] } = schema;
    const first = prefixItems as readonly SchemaNode[];
    const others = (Array.isArray(items) ? additionalItems : items) as SchemaNode | undefined;
    return values.flatMap((item, index) => this.find(first[index] ?? others, item, [...path, index]));
  }

  #findInFields(schema: JsonObject, value: JsonObject, path: ValuePath): readonly StandardIssue[] {
    const { properties = {}, required = [], additionalProperties: others, propertyNames } = schema;
    const declared = properties as { readonly [name: string]: SchemaNode };
    const missing = (required as readonly string[]).filter((name) => !Object.hasOwn(value, name));
    const issues: StandardIssue[] = missing.map((name) => {
      const types = Object.hasOwn(declared, name) ? listTypes(toJsonObject(declared[name])["type"]) : [];
      const expected = types.length === 0 ? "" : `; it must be ${describeTypes(types)}`;
      return { path: [...path, name], message: `is missing${expected}` };
    });
    for (const [name, inner] of Object.entries(value)) {
      const at = [...path, name];
      issues.push(...this.find(propertyNames as SchemaNode | undefined, name, at));
      if (Object.hasOwn(declared, name)) issues.push(...this.find(declared[name], inner, at));
      else if (others === false) issues.push({ path: at, message: "is not a known field" });
      else issues.push(...this.find(others as SchemaNode | undefined, inner, at));
    }
    return issues;
  }

  #findInCombined({ allOf, anyOf, oneOf, not }: JsonObject, value: Json, path: ValuePath): readonly StandardIssue[] {
    const findEach = (list: Json | undefined): readonly (readonly StandardIssue[])[] =>
      ((list ?? []) as readonly SchemaNode[]).map((schema) => this.find(schema, value, path));
    const any = findEach(anyOf);
    const one = findEach(oneOf);
    const issues = [...findEach(allOf).flat(), ...findNearest(any), ...findNearest(one)];
    if (one.filter((found) => found.length === 0).length > 1)
      issues.push({ path, message: "must match only one of the alternatives" });
    if (not !== undefined && this.find(not as SchemaNode, value, path).length === 0)
      issues.push({ path, message: "must not match the schema `not`" });
    return issues;
  }
}

function listTypes(type: Json | undefined): readonly string[] {
  return type === undefined ? [] : ([type].flat() as readonly string[]);
}

function describeTypes(types: readonly string[]): string {
  return types.map((name) => TYPES[name]?.[0] ?? name).join(" or ");
}

/** The issues of the alternative that the value comes closest to. */
function findNearest(alternatives: readonly (readonly StandardIssue[])[]): readonly StandardIssue[] {
  return alternatives.toSorted((a, b) => a.length - b.length)[0] ?? [];
}

/** How much work it is to compare a value, without what is inside. */
function sizeOf(value: Json | undefined): number {
  if (typeof value === "string") return value.length >> 4;
  if (Array.isArray(value)) return value.length;
  return isJsonObject(value) ? Object.keys(value).length : 0;
}

function invalid(path: string, what: string): LoomError {
  return new LoomError("invalid_command", `The output schema at "${path.slice(0, 200)}" ${what}`, {
    path: path.slice(0, 200),
  });
}
