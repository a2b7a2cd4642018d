import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { readLastObject } from "./read-json.ts";

describe("readLastObject", () => {
  it.each<[string, string, object | undefined]>([
    ["alone", '{"score": 0.5}', { score: 0.5 }],
    ["after words", 'Good.\n{"score": 0.5}', { score: 0.5 }],
    ["in a fence", '```json\n{"nodes": []}\n```\nThat is all.', { nodes: [] }],
    ["the last of two", '{"score": 1} no: {"score": 0}', { score: 0 }],
    ["whole, not the one inside it", '{"a": {"b": 1}}', { a: { b: 1 } }],
    ["with braces in its strings", '{"a": "}{"}', { a: "}{" }],
    ["after a quotation mark", 'He said "well {"a": 1}', { a: 1 }],
    ["before words with braces", '{"a": 1} {not JSON}', { a: 1 }],
    ["after an unclosed brace", 'a set { of things\n{"a": {"b": 1}}', { a: { b: 1 } }],
    ["of prose", "I would say eight of ten.", undefined],
    ["of an array", "[1, 2]", undefined],
    ["of numbers that JSON does not have", '{"score": NaN}', undefined],
    ["cut in the middle", '{"score": 0.', undefined],
  ])("%s", (_, text, found) => {
    expect(readLastObject(text)).toEqual(found);
  });

  it("finds the object after any text", () => {
    fc.assert(
      fc.property(
        fc.string({ unit: fc.constantFrom("a", '"', "}", "\n", "\\", "[") }),
        fc.dictionary(fc.string(), fc.jsonValue()),
        (words, value) => {
          expect(readLastObject(`${words}\n${JSON.stringify(value)}`)).toEqual(JSON.parse(JSON.stringify(value)));
        },
      ),
    );
  });

  it("handles slow inputs in bounded time", () => {
    expect(readLastObject("{".repeat(1_000_000))).toBeUndefined();
    expect(readLastObject("{}".repeat(500_000))).toEqual({});
    expect(readLastObject("{x}".repeat(300_000))).toBeUndefined();
  });
});
