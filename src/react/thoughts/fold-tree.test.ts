import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { ThoughtView } from "../../client/index.ts";
import { FOLD_LIMITS, foldTree, NO_OVERRIDES } from "./fold-tree.ts";
import { indexTree } from "./tree-index.ts";

const STATUSES = ["open", "kept", "pruned", "abandoned"] as const;

/** Parents may be unknown, come later, repeat or form cycles. */
const thoughtsArbitrary: fc.Arbitrary<ThoughtView[]> = fc
  .array(
    fc.record({ parent: fc.nat({ max: 90 }), status: fc.constantFrom(...STATUSES), depth: fc.integer({ max: 30 }) }),
    {
      minLength: 1,
      maxLength: 80,
    },
  )
  .map((list) =>
    list.map(({ parent, status, depth }, at) => ({
      id: `${at}`,
      text: `thought ${at}`,
      status,
      depth,
      ...(parent > 85 ? {} : { parent: `${parent}` }),
    })),
  );

function makeWide(count: number): ThoughtView[] {
  return Array.from({ length: count }, (_, at) => ({
    id: `${at}`,
    text: "",
    depth: 1,
    status: at === 70 ? "kept" : "pruned",
  }));
}

describe("indexTree", () => {
  it("builds a forest from any parents", () => {
    fc.assert(
      fc.property(thoughtsArbitrary, (thoughts) => {
        const { order, parents, sizes, roots, columns } = indexTree(thoughts);
        expect(order.toSorted((a, b) => a - b)).toEqual(thoughts.map((_, at) => at));
        for (const [at, thoughtIndex] of order.entries()) {
          const parent = parents[thoughtIndex] as number;
          if (parent < 0) continue;
          expect(order.indexOf(parent)).toBeLessThan(at);
          expect(columns[thoughtIndex]).toBe((columns[parent] as number) + 1);
        }
        expect(roots.reduce((sum, root) => sum + (sizes[root] as number), 0)).toBe(thoughts.length);
      }),
    );
  });

  it("puts a thought with an unknown parent into the column of its depth", () => {
    const thoughts: ThoughtView[] = [
      { id: "a", text: "", depth: 1, status: "open" },
      { id: "b", text: "", depth: 3, parent: "gone", status: "open" },
      { id: "c", text: "", depth: 1e9, status: "open" },
    ];
    expect([...indexTree(thoughts).columns]).toEqual([0, 2, 24]);
  });
});

describe("foldTree", () => {
  it("draws or counts each thought once, and always the paths to the newest and the chosen", () => {
    const limits = { drawn: 12, siblings: 3 };
    const property = fc.property(thoughtsArbitrary, fc.nat(), fc.nat(), (thoughts, closed, selected) => {
      const index = indexTree(thoughts);
      const path = [`${selected % thoughts.length}`];
      const drawn = foldTree(index, { path }, NO_OVERRIDES, limits);
      const places = drawn.flatMap(({ thoughtIndex }) => thoughtIndex ?? []);
      expect(new Set(places).size).toBe(places.length);
      expect(places.length + drawn.reduce((sum, { folded }) => sum + folded, 0)).toBe(thoughts.length);
      expect(places).toContain(selected % thoughts.length);
      expect(places).toContain(thoughts.length - 1);
      for (const [at, { parent }] of drawn.entries()) expect(parent).toBeLessThan(at);
      // A branch closed by the user stays closed.
      const toggled = new Map([[`${closed % thoughts.length}`, false]]);
      const shut = foldTree(index, { path }, { toggled, more: new Map() }, limits);
      expect(shut.find(({ thoughtIndex }) => thoughtIndex === closed % thoughts.length)?.isOpen ?? false).toBe(false);
      expect(
        shut.filter(({ thoughtIndex }) => thoughtIndex !== undefined).length +
          shut.reduce((sum, { folded }) => sum + folded, 0),
      ).toBe(thoughts.length);
    });
    fc.assert(property);
  });

  it("draws a small tree whole", () => {
    const thoughts = makeWide(10);
    expect(foldTree(indexTree(thoughts), { path: [] }, NO_OVERRIDES).every(({ folded }) => folded === 0)).toBe(true);
  });

  it("folds dead branches first", () => {
    const thoughts: ThoughtView[] = [
      { id: "dead", text: "", depth: 1, status: "abandoned" },
      { id: "alive", text: "", depth: 1, status: "kept" },
      ...["dead", "alive"].flatMap((parent) =>
        [1, 2, 3].map((n): ThoughtView => ({ id: `${parent}${n}`, text: "", depth: 2, parent, status: "pruned" })),
      ),
      { id: "last", text: "", depth: 1, status: "open" },
    ];
    const drawn = foldTree(indexTree(thoughts), { path: [] }, NO_OVERRIDES, { drawn: 6, siblings: 12 });
    expect(drawn.find(({ thoughtIndex }) => thoughtIndex === 0)).toMatchObject({ isOpen: false, folded: 3 });
    expect(drawn.find(({ thoughtIndex }) => thoughtIndex === 1)).toMatchObject({ isOpen: true, folded: 0 });
  });

  it("prefers live siblings and shows more on request", () => {
    const index = indexTree(makeWide(100));
    const drawn = foldTree(index, { path: [] }, NO_OVERRIDES);
    expect(drawn).toHaveLength(FOLD_LIMITS.siblings + 1);
    expect(drawn.map(({ thoughtIndex }) => thoughtIndex)).toContain(70);
    expect(drawn.at(-1)).toMatchObject({
      thoughtIndex: undefined,
      folded: 100 - FOLD_LIMITS.siblings,
      count: drawn.length,
    });
    expect(foldTree(index, { path: [] }, { toggled: new Map(), more: new Map([["", 20]]) })).toHaveLength(
      FOLD_LIMITS.siblings + 21,
    );
  });

  it("draws a limited number of ten thousand thoughts", () => {
    const thoughts = Array.from({ length: 10_000 }, (_, at): ThoughtView => {
      const parent = Math.floor((at - 1) / 3);
      return { id: `${at}`, text: "", depth: 1, status: "kept", ...(at === 0 ? {} : { parent: `${parent}` }) };
    });
    const drawn = foldTree(indexTree(thoughts), { path: [] }, NO_OVERRIDES);
    expect(drawn.length).toBeLessThan(FOLD_LIMITS.drawn + 40);
  });
});
