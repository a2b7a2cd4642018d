import { describe, expect, it } from "vitest";
import { describeMissing, joinMissing } from "./missing-nodes.ts";

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
