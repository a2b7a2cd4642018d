import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { ToolResultPart } from "../models/model.ts";
import { fitResults, fitTexts } from "./fit-results.ts";

const part = (value: string, type: "text" | "error-text" = "text"): ToolResultPart => ({
  type: "tool-result",
  toolCallId: "c",
  toolName: "t",
  output: { type, value },
});
const bytes = (parts: readonly ToolResultPart[]) =>
  parts.reduce((all, one) => all + Buffer.byteLength(JSON.stringify(one)), 0);

describe("fitResults", () => {
  it("keeps results that fit", () => {
    const parts = [part("a"), part("b")];
    expect(fitResults(parts)).toEqual(parts);
  });

  it("cuts only the large ones and marks them", () => {
    const [small, large, broken] = fitResults([
      part("ok"),
      part("汉".repeat(100_000)),
      part("x".repeat(500_000), "error-text"),
    ]);
    expect(small).toEqual(part("ok"));
    expect(bytes([large as ToolResultPart])).toBeGreaterThan(250_000);
    expect(JSON.stringify(broken)).toMatch(/\[cut off: \d+ of 500000 characters/);
    expect(broken?.output.type).toBe("error-text");
  });

  it("never exceeds the limit", () => {
    const text = fc.oneof(
      fc.constantFrom("a", "汉", "😀", "\u0001", '"').chain((unit) => fc.nat(3000).map((n) => unit.repeat(n))),
      fc.string({ unit: "binary", maxLength: 50 }),
    );
    fc.assert(
      fc.property(
        fc.array(text, { minLength: 1, maxLength: 8 }),
        fc.integer({ min: 4000, max: 20_000 }),
        (texts, limit) => {
          const fitted = fitResults(
            texts.map((value) => part(value)),
            limit,
          );
          expect(fitted).toHaveLength(texts.length);
          expect(bytes(fitted)).toBeLessThanOrEqual(limit);
        },
      ),
    );
  });
});

describe("fitTexts", () => {
  it("keeps texts that fit", () => {
    const texts = ["a", "bb"];
    expect(fitTexts(texts, 3)).toEqual(texts);
  });

  it("shares the space that short texts leave, and marks cut texts", () => {
    const fitted = fitTexts(["short", "x".repeat(1000), "y".repeat(1000)], 505);
    expect(fitted[0]).toBe("short");
    expect(fitted.map(({ length }) => length)).toEqual([5, 250, 250]);
    expect(fitted[1]).toMatch(/^x+\n\[cut off: too long, 1000 characters in total\]$/);
  });

  it("respects any limit", () => {
    const texts = ["😀".repeat(30), "y".repeat(70), ""];
    for (const limit of [0, 1, 5, 50, 100, 129]) {
      const fitted = fitTexts(texts, limit);
      expect(fitted.join("").length).toBeLessThanOrEqual(limit);
      expect(fitted.every((text) => text.isWellFormed())).toBe(true);
    }
  });
});
