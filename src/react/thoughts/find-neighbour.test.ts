import { describe, expect, it } from "vitest";
import { contains, intersects, reveal, widen } from "./drawn-region.ts";
import { findNeighbour, isMoveKey, type GridItem } from "./find-neighbour.ts";

/** One item with three to its right; the middle one has another. */
const SPOTS: readonly GridItem[] = [
  { column: 0, row: 1, before: [], after: [1, 2, 3] },
  { column: 1, row: 0, before: [0], after: [] },
  { column: 1, row: 1, before: [0], after: [4] },
  { column: 1, row: 2, before: [0], after: [] },
  { column: 2, row: 1, before: [2], after: [] },
];

describe("findNeighbour", () => {
  it("follows lines to the nearest item", () => {
    expect(findNeighbour(SPOTS, 0, "ArrowRight")).toBe(2);
    expect(findNeighbour(SPOTS, 4, "ArrowLeft")).toBe(2);
    expect(findNeighbour(SPOTS, 4, "ArrowRight")).toBe(4);
  });

  it("moves within a column and to both ends", () => {
    expect(findNeighbour(SPOTS, 1, "ArrowDown")).toBe(2);
    expect(findNeighbour(SPOTS, 3, "ArrowUp")).toBe(2);
    expect(findNeighbour(SPOTS, 1, "ArrowUp")).toBe(1);
    expect([findNeighbour(SPOTS, 3, "Home"), findNeighbour(SPOTS, 0, "End")]).toEqual([0, 4]);
    expect([isMoveKey("Home"), isMoveKey("Enter")]).toEqual([true, false]);
  });
});

describe("the drawn region", () => {
  const region = { left: 0, top: 0, right: 10, bottom: 10 };
  it("detects containment and intersection", () => {
    expect(contains(widen(region, 5), { left: -5, top: 0, right: 15, bottom: 4 })).toBe(true);
    expect(contains(region, widen(region, 1))).toBe(false);
    expect(intersects(region, { left: 10, top: 10, right: 11, bottom: 11 })).toBe(true);
    expect(intersects(region, { left: 0, top: 11, right: 10, bottom: 12 })).toBe(false);
  });

  it("scrolls only as far as needed", () => {
    expect(reveal(0, 100, 40, 60, 10)).toBe(0);
    expect(reveal(0, 100, 95, 115, 10)).toBe(25);
    expect(reveal(200, 100, 40, 60, 10)).toBe(30);
    expect(reveal(50, 100, 5, 15, 10)).toBe(-5);
  });
});
