// Checks values against JSON Schema of clients. Ajv decides what is right.
import { Ajv2020 } from "ajv/dist/2020.js";
import { describe, expect, it } from "vitest";
import { failureOf } from "../../test/agents/facade-fixture.ts";
import { sampleCases } from "../../test/sampling.ts";
import type { JsonObject } from "../protocol/index.ts";
import { fromJsonSchema } from "./from-json-schema.ts";

const validate = (schema: JsonObject, value: unknown) => fromJsonSchema(schema)["~standard"].validate(value);

const VALUES = JSON.parse(`[
  null, true, false, 0, 1, 2, 3, 1.5, -1, 0.3, 12, "", "a", "ab", "abc", "🙂", "2026-01-01", [], [1], [1, 2], ["a"],
  ["a", 1], [[1]], [1, "a", null], {}, {"a": 1}, {"a": "x"}, {"a": 1, "b": 2}, {"b": 2}, {"a": {"a": {}}}, {"a": null},
  {"kind": "x", "n": 1}, {"kind": "y", "s": "t"}, {"kind": "x", "s": "t"}, {"__proto__": 1}
]`) as readonly unknown[];
const TREE = { type: "object", properties: { a: { $ref: "#" } }, additionalProperties: false };
const UNION = [
  { type: "object", properties: { kind: { const: "x" }, n: { type: "number" } }, required: ["kind", "n"] },
  { type: "object", properties: { kind: { const: "y" }, s: { type: "string" } }, required: ["kind", "s"] },
];
const SCHEMAS: readonly JsonObject[] = [
  {},
  ...["string", "number", "integer", "boolean", "null", "array", "object"].map((type) => ({ type })),
  { type: ["string", "null"] },
  { enum: ["a", 1, null, [1], { a: 1 }] },
  { const: { a: 1 } },
  { minimum: 1, maximum: 2 },
  { exclusiveMinimum: 1, exclusiveMaximum: 3 },
  { type: "number", multipleOf: 0.1 },
  { minLength: 1, maxLength: 2 },
  { minItems: 1, maxItems: 1 },
  { minProperties: 1, maxProperties: 1 },
  { items: { type: "integer" } },
  { items: false },
  { prefixItems: [{ type: "string" }, { type: "number" }], items: false },
  { properties: { a: { type: "number" } }, required: ["a"] },
  { properties: { a: { type: "number" } }, additionalProperties: false },
  { properties: { a: true, b: false } },
  { required: ["toString"] },
  { additionalProperties: { type: "number" } },
  { propertyNames: { maxLength: 1 } },
  { allOf: [{ type: "object" }, { required: ["a"] }] },
  { anyOf: [{ type: "string" }, { type: "number", minimum: 1 }] },
  { oneOf: [{ type: "number" }, { minimum: 2 }] },
  { not: { type: "object" } },
  { anyOf: UNION },
  { $ref: "#/$defs/a~1b", $defs: { "a/b": { type: "string" } } },
  TREE,
];

describe("fromJsonSchema", () => {
  it.each(sampleCases(SCHEMAS, { perKind: 20 }))("decides like Ajv: %j", async (schema) => {
    const isValid = new Ajv2020({ strict: false, ownProperties: true, multipleOfPrecision: 9 }).compile(schema);
    for (const value of VALUES) {
      const { issues } = await validate(schema, value);
      expect(issues === undefined, JSON.stringify(value)).toBe(isValid(value));
    }
  });

  it("says what is wrong, and where", async () => {
    const schema = { type: "object", properties: { list: { items: { type: "object", required: ["id"] } } } };
    expect(await validate(schema, { list: [{ id: 1 }, {}] })).toEqual({
      issues: [{ path: ["list", 1, "id"], message: "is missing" }],
    });
    // The nearest alternative.
    expect(await validate({ anyOf: UNION }, { kind: "y", s: 1 })).toMatchObject({ issues: [{ path: ["s"] }] });
  });

  it.each<[JsonObject, string]>([
    [{ uniqueItems: true }, "uniqueItems"],
    [{ properties: { a: { patternProperties: {} } } }, "#/properties/a"],
    [{ anyOf: { type: "string" } }, "anyOf"],
    [{ type: "text" }, "text"],
    [{ type: "constructor" }, "constructor"],
    [{ required: "a" }, "required"],
    [{ properties: [] }, "properties"],
    [{ items: 1 }, "#/items"],
    [{ enum: "a" }, "enum"],
    [{ $ref: "https://example.com/schema.json" }, "$ref"],
    [{ $ref: "#/$defs/none" }, "$ref"],
    [{ $ref: "#/default", default: { uniqueItems: true } }, "$ref"],
    [{ $ref: 1 }, "$ref"],
  ])("refuses %j", async (schema, named) => {
    const refused = failureOf(Promise.resolve().then(() => fromJsonSchema(schema)));
    expect(await refused).toMatchObject({
      code: "invalid_command",
      message: expect.stringContaining(named) as string,
    });
  });

  it("does not check patterns and formats, which guide the model", async () => {
    // This expression takes exponential time.
    const schema = { type: "string", pattern: "^(a+)+$", format: "date" };
    expect(await validate(schema, `${"a".repeat(40)}!`)).not.toHaveProperty("issues");
  });

  it.each<[string, JsonObject, unknown]>([
    ["endless recursion", { $ref: "#" }, 1],
    [
      "alternatives that double",
      {
        $ref: "#/$defs/0",
        $defs: Object.fromEntries(
          Array.from({ length: 40 }, (_, index) => [
            String(index),
            index === 39 ? { type: "string" } : { anyOf: [1, 2].map(() => ({ $ref: `#/$defs/${index + 1}` })) },
          ]),
        ),
      },
      1,
    ],
    [
      "many options for many items",
      { items: { enum: Array.from({ length: 2000 }, (_, index) => `${index}`) } },
      Array.from({ length: 100_000 }, () => "x"),
    ],
    [
      "many names for many items",
      { items: { required: Array.from({ length: 2000 }, (_, index) => `${index}`) } },
      Array.from({ length: 100_000 }, () => ({})),
    ],
    [
      "many alternatives for a long text",
      { anyOf: Array.from({ length: 1000 }, () => ({ minLength: 1e9 })) },
      "x".repeat(500_000),
    ],
  ])("gives up early on %s", (_name, schema, value) => {
    const before = performance.now();
    expect(() => validate(schema, value)).toThrow("too much work");
    expect(performance.now() - before).toBeLessThan(5000);
  });
});
