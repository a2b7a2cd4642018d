import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { ThoughtView } from "../../client/view.ts";
import { fitTree } from "./draw-tree.ts";
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
    const limits = { drawn: 12, siblings: 3, kept: 4 };
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

  it("draws a small tree whole, except pruned siblings", () => {
    const thoughts = makeWide(10).map((thought, at) => ({ ...thought, status: at < 7 ? "kept" : "pruned" }) as const);
    const drawn = foldTree(indexTree(thoughts), { path: ["8"] }, NO_OVERRIDES);
    // The chosen thought and the newest are drawn, and one more pruned sibling takes the space of its placeholder.
    expect(drawn.map(({ folded }) => folded)).toEqual(Array.from({ length: 10 }, () => 0));
    const fewer = foldTree(indexTree(thoughts), { path: [] }, NO_OVERRIDES);
    expect(fewer).toHaveLength(9);
    expect(fewer.at(-1)).toMatchObject({ thoughtIndex: undefined, folded: 2, isPruned: true });
  });

  it("folds dead branches first", () => {
    const thoughts: ThoughtView[] = [
      { id: "dead", text: "", depth: 1, status: "abandoned" },
      { id: "alive", text: "", depth: 1, status: "kept" },
      ...["dead", "alive"].flatMap((parent) =>
        [1, 2, 3].map((n): ThoughtView => ({ id: `${parent}${n}`, text: "", depth: 2, parent, status: "kept" })),
      ),
      { id: "last", text: "", depth: 1, status: "open" },
    ];
    const drawn = foldTree(indexTree(thoughts), { path: [] }, NO_OVERRIDES, { drawn: 6, siblings: 12, kept: 12 });
    expect(drawn.find(({ thoughtIndex }) => thoughtIndex === 0)).toMatchObject({ isOpen: false, folded: 3 });
    expect(drawn.find(({ thoughtIndex }) => thoughtIndex === 1)).toMatchObject({ isOpen: true, folded: 0 });
  });

  it("counts pruned siblings and shows more on request", () => {
    const index = indexTree(makeWide(100));
    const drawn = foldTree(index, { path: [] }, NO_OVERRIDES);
    expect(drawn.map(({ thoughtIndex }) => thoughtIndex)).toEqual([70, 99, undefined]);
    expect(drawn.at(-1)).toMatchObject({ folded: 98, isPruned: true, count: 3 });
    expect(foldTree(index, { path: [] }, { toggled: new Map(), more: new Map([["", 20]]) })).toHaveLength(23);
  });

  it("prefers live siblings", () => {
    const thoughts = makeWide(100).map((thought) => ({
      ...thought,
      status: thought.status === "kept" ? thought.status : ("abandoned" as const),
    }));
    const [{ siblings }] = FOLD_LIMITS;
    const drawn = foldTree(indexTree(thoughts), { path: [] }, NO_OVERRIDES);
    expect(drawn).toHaveLength(siblings + 1);
    expect(drawn.map(({ thoughtIndex }) => thoughtIndex)).toContain(70);
    expect(drawn.at(-1)).toMatchObject({ folded: 100 - siblings, isPruned: false });
  });

  it("draws a limited number of ten thousand thoughts", () => {
    const thoughts = Array.from({ length: 10_000 }, (_, at): ThoughtView => {
      const parent = Math.floor((at - 1) / 3);
      return { id: `${at}`, text: "", depth: 1, status: "kept", ...(at === 0 ? {} : { parent: `${parent}` }) };
    });
    const drawn = foldTree(indexTree(thoughts), { path: [] }, NO_OVERRIDES);
    expect(drawn.length).toBeLessThan(FOLD_LIMITS[0].drawn + 40);
  });
});

describe("fitTree", () => {
  it("draws an outline on a phone, which needs no scrolling sideways", () => {
    const space = { width: 330, height: 400 };
    fc.assert(
      fc.property(thoughtsArbitrary, (thoughts) => {
        const { drawn, boxes, boxWidth, width } = fitTree(indexTree(thoughts), { path: [] }, NO_OVERRIDES, space);
        expect(width).toBeLessThanOrEqual(space.width);
        expect(boxWidth).toBeGreaterThanOrEqual(140);
        const rows = boxes.toSorted((a, b) => a.y - b.y);
        for (const [at, row] of rows.entries()) {
          const above = rows[at - 1];
          if (above !== undefined) expect(row.y).toBeGreaterThanOrEqual(above.y + above.height);
        }
        for (const [at, { parent }] of drawn.entries())
          if (parent >= 0) expect(boxes[at]?.y).toBeGreaterThan(boxes[parent]?.y ?? 0);
      }),
    );
  });

  /** The drawing's space in a window of 1280 × 800 pixels. */
  const SPACE = { width: 766, height: 464 };

  /** A search that keeps some of the children of each kept thought. */
  function search(breadth: number, kept: number, depth: number, others: ThoughtView["status"]): ThoughtView[] {
    const thoughts: ThoughtView[] = [];
    let parents: (string | undefined)[] = [undefined];
    for (let level = 1; level <= depth; level++) {
      const next: string[] = [];
      for (const parent of parents)
        for (let child = 0; child < breadth; child++) {
          const id = `${thoughts.length}`;
          const isKept = child < Math.ceil(kept / parents.length);
          thoughts.push({
            id,
            text: id,
            depth: level,
            status: isKept ? "kept" : others,
            score: 0.5,
            ...(parent === undefined ? {} : { parent }),
          });
          if (isKept) next.push(id);
        }
      parents = next;
    }
    return thoughts;
  }

  it("draws a hundred thoughts at full size without scrolling on a laptop", () => {
    for (const others of ["pruned", "open", "abandoned"] as const)
      for (const [breadth, kept, depth] of [
        [7, 5, 4],
        [5, 5, 5],
        [20, 2, 4],
        [34, 1, 3],
      ] as const) {
        const thoughts = search(breadth, kept, depth, others);
        expect(thoughts.length).toBeGreaterThan(99);
        const { height, width, drawn } = fitTree(indexTree(thoughts), { path: [] }, NO_OVERRIDES, SPACE);
        expect(height).toBeLessThanOrEqual(SPACE.height);
        expect(width).toBeLessThanOrEqual(SPACE.width);
        expect(drawn.length).toBeGreaterThan(depth * 2);
      }
  });

  it("adds what the user opened, and folds nothing else for it", () => {
    const index = indexTree(search(7, 5, 4, "pruned"));
    const before = fitTree(index, { path: [] }, NO_OVERRIDES, SPACE);
    const opened = fitTree(index, { path: [] }, { toggled: new Map(), more: new Map([["", 24]]) }, SPACE);
    const keys = new Set(opened.drawn.map(({ key }) => key));
    expect(before.drawn.filter(({ thoughtIndex, key }) => thoughtIndex !== undefined && !keys.has(key))).toEqual([]);
    expect(opened.drawn.length).toBeGreaterThan(before.drawn.length);
  });
});
