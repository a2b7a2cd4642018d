// Formatting and tokens of JSON.
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { layOutJson, readJsonTokens } from "./json-text.tsx";

describe("readJsonTokens", () => {
  it("keeps the text", () => {
    fc.assert(
      fc.property(fc.json(), fc.nat(200), (json, limit) => {
        const text = layOutJson(json);
        const { tokens, hidden } = readJsonTokens(text, limit);
        expect(tokens.map((token) => token.text).join("")).toBe(text.slice(0, limit));
        expect(hidden).toBe(Math.max(0, text.length - limit));
      }),
    );
  });

  it("distinguishes keys from strings, and leaves other text unchanged", () => {
    const { tokens } = readJsonTokens('{"a\\"": "b", "n": -1.5e3, "t": [true, null]}');
    expect(tokens.filter(({ kind }) => kind !== "plain").map(({ kind, text }) => `${kind} ${text}`)).toEqual([
      'key "a\\""',
      'string "b"',
      'key "n"',
      "number -1.5e3",
      'key "t"',
      "word true",
      "word null",
    ]);
    expect(layOutJson("[DONE")).toBe("[DONE");
  });

  // With exponential backtracking, the test would time out.
  it("reads an unterminated string", () => {
    const text = `"${"\\".repeat(99_999)}`;
    expect(readJsonTokens(text).tokens).toEqual([{ kind: "plain", text }]);
  });
});
