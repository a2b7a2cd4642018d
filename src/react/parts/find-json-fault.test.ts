// Where a text stops being JSON: the same place whatever engine reads it.
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { readJsonObject } from "./find-json-fault.ts";

describe("a text that should be an object", () => {
  it.each([
    ['{"a": 1}', { kind: "object", value: { a: 1 } }],
    ["  ", { kind: "empty" }],
    ['{"a": 1', { kind: "unfinished" }],
    ['{"a": "b', { kind: "unfinished" }],
    ["[1]", { kind: "no-object" }],
    ["null", { kind: "no-object" }],
    ['{"a": 1,}', { kind: "invalid", line: 1, column: 9 }],
    ['{\n  "a": x\n}', { kind: "invalid", line: 2, column: 8 }],
    ['{"a": 1} more', { kind: "invalid", line: 1, column: 10 }],
  ])("%j", (text, expected) => {
    expect(readJsonObject(text)).toEqual(expected);
  });

  it("is told where it is wrong, however long it is", () => {
    const filler = '"x",\n'.repeat(500);
    expect(readJsonObject(`{"a": [\n${filler}?]}`)).toEqual({ kind: "invalid", line: 502, column: 1 });
  });

  it("is read as JSON.parse reads it", () => {
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
        expect(kind === "object" || kind === "no-object").toBe(isJson);
      }),
    );
  });
});
