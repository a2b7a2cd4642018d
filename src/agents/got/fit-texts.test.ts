import { describe, expect, it } from "vitest";
import { fitTexts } from "./fit-texts.ts";
import { joinLost } from "./lost.ts";
import { nameMissing } from "./name-missing.ts";

describe("texts that go together", () => {
  it("stay as they are where there is room", () => {
    const texts = ["a", "bb"];
    expect(fitTexts(texts, 3)).toBe(texts);
  });

  it("share what the short ones leave, and say that they were cut", () => {
    const fitted = fitTexts(["short", "x".repeat(1000), "y".repeat(1000)], 505);
    expect(fitted[0]).toBe("short");
    expect(fitted.map(({ length }) => length)).toEqual([5, 250, 250]);
    expect(fitted[1]).toMatch(/^x+\n\[cut: too long to be kept whole, it had 1000 characters\]$/);
  });

  it("are within the limit, whatever it is", () => {
    const texts = ["😀".repeat(30), "y".repeat(70), ""];
    for (const limit of [0, 1, 5, 50, 100, 129]) {
      const fitted = fitTexts(texts, limit);
      expect(fitted.join("").length).toBeLessThanOrEqual(limit);
      expect(fitted.every((text) => text.isWellFormed())).toBe(true);
    }
  });
});

describe("what is missing", () => {
  const one = (id: string) => ({ missing: [{ id, task: "t", reason: "r" }], count: 1 });
  const ids = Array.from({ length: 150 }, (_, index) => `n${index}`);

  it("is named up to a number, and counted beyond", () => {
    const lost = joinLost(ids.map(one));
    expect([lost.missing.length, lost.count]).toEqual([100, 150]);
    expect(joinLost([one("first"), lost])).toMatchObject({ count: 151, missing: { 0: { id: "first" }, length: 100 } });
    expect(nameMissing("Why?", lost.missing, lost.count)).toMatch(/ n18, n19 and 130 more\.\)$/);
    expect(nameMissing("为何？", lost.missing, lost.count)).toMatch(/n19等，共 150 个。）$/);
    expect(nameMissing("Why?", [])).toBe("");
  });
});
