import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { Json } from "../../protocol/index.ts";
import { gistValue, readJsonText } from "./json-entries.ts";

describe("gistValue", () => {
  it.each<[Json, string]>([
    [{}, ""],
    [{ city: "Paris", days: 3 }, "city: Paris, days: 3"],
    [{ a: { b: 1 }, c: [1] }, "a: {…}, c: […]"],
    [[1, "two\nlines", null], "1, two lines, null"],
    [[1, 2, 3, 4, 5, 6, 7], "1, 2, 3, 4, 5, 6, …"],
    ["text", "text"],
  ])("summarizes %j", (value, expected) => {
    expect(gistValue(value)).toBe(expected);
  });

  it("returns one short line for any value", () => {
    fc.assert(
      fc.property(fc.jsonValue(), (value) => {
        const gist = gistValue(value as Json);
        expect(gist.length).toBeLessThan(125);
        expect(gist).not.toContain("\n");
      }),
    );
  });
});

describe("readJsonText", () => {
  it("parses objects and arrays within the length limit", () => {
    expect(readJsonText(' {"a": 1}', 100)).toEqual({ a: 1 });
    expect(readJsonText("[1", 100)).toBeUndefined();
    expect(readJsonText("12", 100)).toBeUndefined();
    expect(readJsonText("[1, 2]", 3)).toBeUndefined();
  });
});
