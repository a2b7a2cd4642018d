import { Ajv } from "ajv";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { JsonObject } from "../protocol/index.ts";
import { describeInput } from "./describe-input.ts";
import type { StandardResult } from "./standard-schema.ts";

function check(schema: JsonObject, value: unknown): StandardResult<unknown> {
  return describeInput(schema)["~standard"].validate(value) as StandardResult<unknown>;
}

const SCHEMA: JsonObject = {
  type: "object",
  properties: {
    name: { type: "string", minLength: 2, maxLength: 4 },
    count: { type: "integer", minimum: 1, maximum: 5 },
    kind: { type: "string", enum: ["a", "b"] },
    list: { type: "array", minItems: 1, maxItems: 2, items: { type: ["number", "null"] } },
    inner: {
      type: "object",
      properties: { flag: { type: "boolean" } },
      required: ["flag"],
      additionalProperties: false,
    },
  },
  required: ["name"],
};

describe("describeInput", () => {
  it.each<[unknown, string[]]>([
    [{ name: "ab" }, []],
    [{}, ["name is missing; it must be a string"]],
    [[], [" must be an object, not an array"]],
    [{ name: "a" }, ["name must have at least 2 characters, not 1"]],
    [{ name: "abcde" }, ["name must have at most 4 characters, not 5"]],
    [{ name: "ab", count: 1.5 }, ["count must be an integer, not 1.5"]],
    [{ name: "ab", count: 9 }, ["count must be at most 5, not 9"]],
    [{ name: "ab", kind: "c" }, ['kind must be one of "a", "b", not "c"']],
    [{ name: "ab", list: [] }, ["list must have at least 1 items, not 0"]],
    [{ name: "ab", list: [1, 2, 3] }, ["list must have at most 2 items, not 3"]],
    [{ name: "ab", count: 0 }, ["count must be at least 1, not 0"]],
    [{ name: "ab", list: [1, "x"] }, ['list.1 must be a number or null, not "x"']],
    [{ name: "ab", inner: {} }, ["inner.flag is missing; it must be true or false"]],
    [{ name: "ab", inner: { flag: true, x: 1 } }, ["inner.x is not a known field"]],
  ])("%j: %j", (value, expected) => {
    const { issues = [] } = check(SCHEMA, value);
    expect(issues.map(({ path = [], message }) => `${path.map(String).join(".")} ${message}`)).toEqual(expected);
  });

  it("treats null in an optional field as absent, and only there", () => {
    expect(check(SCHEMA, { name: "ab", count: null })).toEqual({ value: { name: "ab" } });
    expect(check(SCHEMA, { name: null }).issues).toHaveLength(1);
    expect(check(SCHEMA, { name: "ab", list: [null] })).toEqual({ value: { name: "ab", list: [null] } });
  });

  it("rejects unsupported keywords", () => {
    expect(() => describeInput({ type: "object", properties: { a: { pattern: "x" } } })).toThrow(
      'The schema at "/a" has `pattern`, which is not supported',
    );
    expect(() => describeInput({ type: "array", items: { oneOf: [] } })).toThrow("`oneOf`");
  });

  it("agrees with Ajv", () => {
    const accepts = new Ajv().compile(SCHEMA);
    const value = fc.oneof(
      fc.constantFrom("a", "ab", "abc", "abcdef", 1, 3, 9, 1.5, true, [], [1], [1, null], [1, 2, 3], ["x"], {}),
      fc.record({ flag: fc.oneof(fc.boolean(), fc.nat()) }),
    );
    // Mostly valid, so that usually one thing is wrong at a time.
    const mostly = (...right: readonly unknown[]) =>
      fc.oneof({ weight: 4, arbitrary: fc.constantFrom(...right) }, { weight: 1, arbitrary: value });
    const input = fc.record(
      {
        name: mostly("ab", "abcd"),
        count: mostly(1, 5),
        kind: mostly("a", "b"),
        list: mostly([1], [null, 2]),
        inner: mostly({ flag: true }),
        other: value,
      },
      { requiredKeys: [] },
    );
    fc.assert(
      fc.property(input, (given) => {
        expect(check(SCHEMA, given).issues === undefined).toBe(accepts(given));
      }),
      { numRuns: 1000 },
    );
  });
});
