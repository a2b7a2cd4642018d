import { describe, expect, it } from "vitest";
import { fitTexts } from "./fit-texts.ts";
import { joinMissing } from "./missing-nodes.ts";
import { describeMissing } from "./describe-missing.ts";

describe("fitTexts", () => {
  it("keeps texts that fit", () => {
    const texts = ["a", "bb"];
    expect(fitTexts(texts, 3)).toBe(texts);
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

describe("describeMissing", () => {
  const one = (id: string) => ({ missing: [{ id, task: "t", reason: "r" }], count: 1 });
  const ids = Array.from({ length: 150 }, (_, index) => `n${index}`);

  it("lists a limited number of names and counts the rest", () => {
    const lost = joinMissing(ids.map(one));
    expect([lost.missing.length, lost.count]).toEqual([100, 150]);
    expect(joinMissing([one("first"), lost])).toMatchObject({
      count: 151,
      missing: { 0: { id: "first" }, length: 100 },
    });
    expect(describeMissing("Why?", lost.missing, lost.count)).toMatch(/ n18, n19 and 130 more\.\)$/);
    expect(describeMissing("为何？", lost.missing, lost.count)).toMatch(/n19等，共 150 个。）$/);
    expect(describeMissing("Why?", [])).toBe("");
  });
});
