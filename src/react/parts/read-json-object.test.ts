import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { readJsonObject } from "./read-json-object.ts";

describe("readJsonObject", () => {
  it.each([
    ['{"a": 1}', { kind: "object", value: { a: 1 } }],
    ["  ", { kind: "empty" }],
    ['{"a": 1', { kind: "unfinished" }],
    ['{"a": "b', { kind: "unfinished" }],
    ["[1]", { kind: "not-object" }],
    ["null", { kind: "not-object" }],
    ['{"a": 1,}', { kind: "invalid", line: 1, column: 9 }],
    ['{\n  "a": x\n}', { kind: "invalid", line: 2, column: 8 }],
    ['{"a": 1} more', { kind: "invalid", line: 1, column: 10 }],
  ])("%j", (text, expected) => {
    expect(readJsonObject(text)).toEqual(expected);
  });

  it("locates the error in a text of any length", () => {
    const filler = '"x",\n'.repeat(500);
    expect(readJsonObject(`{"a": [\n${filler}?]}`)).toEqual({ kind: "invalid", line: 502, column: 1 });
  });

  it("agrees with JSON.parse", () => {
    fc.assert(
      fc.property(fc.json(), fc.nat(), fc.string({ maxLength: 3 }), (json, at, insert) => {
        const place = at % (json.length + 1);
        const text = json.slice(0, place) + insert + json.slice(place);
        let isJson = true;
        try {
          JSON.parse(text);
        } catch {
          isJson = false;
        }
        const { kind } = readJsonObject(text);
        expect(kind === "object" || kind === "not-object").toBe(isJson);
      }),
    );
  });
});
