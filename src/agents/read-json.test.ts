import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { findField, listJson, listObjectsIn } from "./read-json.ts";

const readFirst = (text: string): unknown => listJson(text).next().value;

describe("listJson", () => {
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
    ["of an array", "[1, 2]", [1, 2]],
    ["with single quotes and Python words", "{'a': True, 'b': None}", { a: true, b: null }],
    ["with bare keys, a comment and a comma at the end", '{a: 1, // one\n b: "x",}', { a: 1, b: "x" }],
    ["with a fraction", "{score: 7/10, solved: false}", { score: "7/10", solved: false }],
    ["with Chinese punctuation", '{"a"：1，"b"：2}', { a: 1, b: 2 }],
    ["with missing commas", '{"a": 1\n "b": 2}', { a: 1, b: 2 }],
    ["cut in the middle", '{"score": 0.', undefined],
  ])("%s", (_, text, found) => {
    expect(readFirst(text)).toEqual(found);
  });

  it("finds the object after any text", () => {
    fc.assert(
      fc.property(
        fc.string({ unit: fc.constantFrom("a", '"', "}", "\n", "\\", "[") }),
        fc.dictionary(fc.string(), fc.jsonValue()),
        (words, value) => {
          expect(readFirst(`${words}\n${JSON.stringify(value)}`)).toEqual(JSON.parse(JSON.stringify(value)));
        },
      ),
    );
  });

  it("finds fields whatever their case, also inside a wrapper", () => {
    const [, inner] = listObjectsIn('{"Result": [{"Is_Solved": true}]}');
    expect(findField(inner ?? {}, "solved", "issolved")).toBe(true);
  });

  it("handles slow inputs in bounded time", () => {
    const started = performance.now();
    for (const text of [`{'${"a'".repeat(100_000)}}`, `{"${'a" '.repeat(10_000)}}`, "{a:`".repeat(50_000)])
      for (const value of listJson(text)) expect(value).toBeTypeOf("object");
    expect(performance.now() - started).toBeLessThan(10_000);
    expect(readFirst("{".repeat(1_000_000))).toBeUndefined();
    expect(readFirst("{}".repeat(500_000))).toEqual({});
    expect(readFirst("{x}".repeat(300_000))).toBeUndefined();
  });
});
