import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { layoutTree, type TreeItem } from "./layout-tree.ts";

const GAP = 8;

/** A growing forest: each item has an earlier parent or none; some are small. */
const growthArbitrary = fc.array(
  fc.record({ up: fc.nat(), height: fc.constantFrom(26, 58), start: fc.nat({ max: 2 }) }),
  {
    minLength: 1,
    maxLength: 60,
  },
);

/** Parents before children, siblings in order of arrival; `made` lists the order of arrival. */
function plant(growth: readonly { readonly up: number; readonly height: number; readonly start: number }[]): {
  readonly items: TreeItem[];
  readonly made: number[];
} {
  const children: number[][] = growth.map(() => []);
  const roots: number[] = [];
  const columns: number[] = [];
  for (const [at, { up, start }] of growth.entries()) {
    const parent = (up % (at + 1)) - 1;
    if (parent < 0) roots.push(at);
    else children[parent]?.push(at);
    columns.push(parent < 0 ? start : (columns[parent] as number) + 1);
  }
  const items: TreeItem[] = [];
  const made: number[] = [];
  const visit = (at: number, parent: number): void => {
    const place = items.length;
    items.push({ parent, column: columns[at] as number, height: growth[at]?.height ?? 0 });
    made.push(at);
    for (const child of children[at] ?? []) visit(child, place);
  };
  for (const root of roots) visit(root, -1);
  return { items, made };
}

describe("layoutTree", () => {
  it("centres a parent on its children and puts them to its right", () => {
    const items = [
      { parent: -1, column: 0, height: 10 },
      { parent: 0, column: 1, height: 10 },
      { parent: 0, column: 1, height: 10 },
      { parent: 0, column: 1, height: 10 },
    ];
    const { middles, height, columnCount } = layoutTree(items, 2);
    expect([...middles]).toEqual([17, 5, 17, 29]);
    expect([height, columnCount]).toEqual([34, 2]);
  });

  it("packs branches closely", () => {
    // A short branch beside a long one takes only its own columns.
    const items = [
      { parent: -1, column: 0, height: 10 },
      { parent: 0, column: 1, height: 10 },
      { parent: 1, column: 2, height: 10 },
      { parent: 1, column: 2, height: 10 },
      { parent: 0, column: 1, height: 10 },
    ];
    expect([...layoutTree(items, 2).middles]).toEqual([17, 11, 5, 17, 23]);
  });

  it("avoids overlaps for any tree", () => {
    fc.assert(
      fc.property(growthArbitrary, (growth) => {
        const { items } = plant(growth);
        const { middles, height } = layoutTree(items, GAP);
        for (const [a, upper] of items.entries()) {
          const middle = middles[a] as number;
          expect(middle - upper.height / 2).toBeGreaterThanOrEqual(-1e-6);
          expect(middle + upper.height / 2).toBeLessThanOrEqual(height + 1e-6);
          for (const [b, lower] of items.entries()) {
            if (a >= b || upper.column !== lower.column) continue;
            const room = Math.abs((middles[b] as number) - middle) - (upper.height + lower.height) / 2;
            expect(room).toBeGreaterThanOrEqual(GAP - 1e-6);
          }
        }
      }),
    );
  });

  it("keeps the vertical order while the tree grows", () => {
    fc.assert(
      fc.property(growthArbitrary, (growth) => {
        const before = plant(growth.slice(0, -1));
        const after = plant(growth);
        const old = layoutTree(before.items, GAP).middles;
        const now = layoutTree(after.items, GAP).middles;
        const placeNow = new Map(after.made.map((made, place) => [made, place]));
        for (const [a, one] of before.items.entries())
          for (const [b, other] of before.items.entries()) {
            if (one.column !== other.column || (old[a] as number) >= (old[b] as number)) continue;
            const [madeA, madeB] = [before.made[a] as number, before.made[b] as number];
            expect(now[placeNow.get(madeA) as number]).toBeLessThan(now[placeNow.get(madeB) as number] as number);
          }
      }),
    );
  });

  it("handles ten thousand items in a chain and in one column", () => {
    const chain = Array.from({ length: 10_000 }, (_, at) => ({ parent: at - 1, column: at, height: 10 }));
    expect(layoutTree(chain, 2).height).toBe(10);
    const column = chain.map(() => ({ parent: -1, column: 0, height: 10 }));
    expect(layoutTree(column, 2).height).toBe(12 * 10_000 - 2);
  });
});
