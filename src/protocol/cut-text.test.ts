// A cut text is the beginning of the original, within its limit, and does not split characters.
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { cutText, isInsidePair, shorten } from "./cut-text.ts";

const texts = fc.oneof(
  fc.string({ unit: "binary", maxLength: 60 }),
  fc.array(fc.constantFrom("a", "\n", "👩‍🚀", "字", " "), { maxLength: 80 }).map((parts) => parts.join("")),
);

describe("cutText", () => {
  it("keeps the beginning", () => {
    fc.assert(
      fc.property(texts, fc.integer({ min: 0, max: 40 }), (text, max) => {
        const head = cutText(text, max);
        expect(text.startsWith(head)).toBe(true);
        expect(head.length).toBeLessThanOrEqual(max);
        expect(head.length).toBeGreaterThanOrEqual(Math.min(text.length, max - 1));
        if (text.isWellFormed()) expect(head.isWellFormed()).toBe(true);
      }),
    );
  });

  it("leaves out a character that does not fit", () => {
    expect(cutText("a👩b", 2)).toBe("a");
    expect(cutText("a👩b", 3)).toBe("a👩");
  });
});

describe("shorten", () => {
  it("counts the ellipsis", () => {
    expect(shorten("abc", 3)).toBe("abc");
    expect(shorten("abcd", 3)).toBe("ab…");
    expect(shorten("a👩b", 3)).toBe("a…");
    expect(shorten("abc", 0)).toBe("…");
  });
});

it("finds the middle of a surrogate pair", () => {
  expect([0, 1, 2, 3, 4].filter((at) => isInsidePair("a👩b", at))).toEqual([2]);
});
