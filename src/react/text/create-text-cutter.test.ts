import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { createTextCutter } from "./create-text-cutter.ts";

const text = fc.array(fc.constantFrom("a", "bc", "\n", "𝄞", "中"), { maxLength: 80 }).map((parts) => parts.join(""));
const size = fc.integer({ min: 1, max: 9 });

describe("createTextCutter", () => {
  it("returns the same text and splits no character", () => {
    fc.assert(
      fc.property(text, size, (whole, length) => {
        const pieces = createTextCutter(length)(whole);
        expect(pieces.join("")).toBe(whole);
        expect(pieces.every((piece) => piece.isWellFormed())).toBe(true);
      }),
    );
  });

  it("splits independently of the updates and changes only the last piece", () => {
    fc.assert(
      fc.property(text, text, size, (before, added, length) => {
        const cut = createTextCutter(length);
        const pieces = cut(before);
        const grown = cut(before + added);
        expect(grown).toEqual(createTextCutter(length)(before + added));
        expect(grown.slice(0, pieces.length - 1)).toEqual(pieces.slice(0, -1));
      }),
    );
  });

  it("starts over if a text does not continue the previous one", () => {
    const cut = createTextCutter(2);
    cut("a\nb\nc\n");
    expect(cut("d\ne")).toEqual(["d\n", "e"]);
    expect(cut("")).toEqual([""]);
  });

  it("limits the size of pieces without line breaks", () => {
    const lengths = createTextCutter(10)("x".repeat(1000)).map(({ length }) => length);
    expect(Math.max(...lengths)).toBeLessThanOrEqual(40);
  });
});
