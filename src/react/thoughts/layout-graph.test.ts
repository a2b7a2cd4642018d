import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { GraphView } from "../../client/index.ts";
import { drawGraphOutline, orderSteps } from "./draw-graph.ts";
import { layoutGraph, placeInOrder } from "./layout-graph.ts";

function makeGraph(
  edges: readonly (readonly [number, number])[],
  count: number,
  expansions: GraphView["expansions"] = [],
): GraphView {
  return {
    nodes: Array.from({ length: count }, (_, at) => ({ id: `n${at}`, status: "planned" })),
    edges: edges.map(([from, to]) => [`n${from}`, `n${to}`]),
    expansions,
  };
}

/** Arbitrary edges, including cycles, duplicates, self-loops and unknown nodes. */
const graphArbitrary = fc
  .tuple(
    fc.integer({ min: 1, max: 30 }),
    fc.array(fc.tuple(fc.nat({ max: 31 }), fc.nat({ max: 31 })), { maxLength: 60 }),
  )
  .map(([count, edges]) => ({ count, edges }));

describe("drawGraphOutline", () => {
  it("has each step below its dependencies, in rows that do not overlap", () => {
    fc.assert(
      fc.property(graphArbitrary, fc.integer({ min: 300, max: 2000 }), ({ count, edges }, available) => {
        // Without cycles.
        const forward = edges.filter(([from, to]) => from > to);
        const layout = layoutGraph(makeGraph(forward, count));
        const order = orderSteps(layout);
        const { boxes, boxWidth, width, lines } = drawGraphOutline(layout, order, available);
        expect(order.toSorted((a, b) => a - b)).toEqual([...layout.columns.keys()]);
        expect(lines).toEqual([]);
        expect(width).toBeLessThanOrEqual(available);
        for (const [row, { x, y, before, after }] of boxes.entries()) {
          const above = boxes[row - 1];
          if (above !== undefined) expect(y).toBeGreaterThan(above.y + above.height);
          expect(x + boxWidth).toBeLessThanOrEqual(width);
          for (const at of before) expect(at).toBeLessThan(row);
          for (const at of after) expect(boxes[at]?.before).toContain(row);
        }
      }),
      { numRuns: 50 },
    );
  });
});

describe("layoutGraph", () => {
  it("puts a node to the right of its dependencies", () => {
    const graph = makeGraph(
      [
        [0, 2],
        [1, 2],
        [2, 3],
        [0, 3],
      ],
      4,
    );
    const { columns, lines, columnCount } = layoutGraph(graph);
    expect([...columns]).toEqual([0, 0, 1, 2]);
    expect(columnCount).toBe(3);
    // The edge that skips a layer has a slot there.
    expect(lines.map(({ bends }) => bends.length)).toEqual([0, 0, 0, 1]);
  });

  it("puts the nodes of an expansion before its dependents", () => {
    const expansions = [{ nodeId: "n0", nodesAdded: 2, edgesAdded: 2, nodes: ["n2", "n3"] }];
    const graph = makeGraph(
      [
        [0, 1],
        [0, 2],
        [2, 3],
      ],
      4,
      expansions,
    );
    expect([...layoutGraph(graph).columns]).toEqual([0, 3, 1, 2]);
  });

  it("tolerates cycles", () => {
    const { columns } = layoutGraph(
      makeGraph(
        [
          [0, 1],
          [1, 2],
          [2, 0],
          [2, 2],
        ],
        3,
      ),
    );
    expect([...columns]).toEqual([0, 1, 2]);
  });

  it("avoids overlaps and is deterministic", () => {
    fc.assert(
      fc.property(graphArbitrary, ({ count, edges }) => {
        const graph = makeGraph(edges, count);
        const { columns, rows, rowCount } = layoutGraph(graph);
        expect(layoutGraph(graph).rows).toEqual(rows);
        for (let a = 0; a < count; a++) {
          expect(rows[a]).toBeGreaterThanOrEqual(-1e-6);
          expect(rows[a]).toBeLessThanOrEqual(rowCount - 1 + 1e-6);
          for (let b = 0; b < a; b++)
            if (columns[a] === columns[b])
              expect(Math.abs((rows[a] as number) - (rows[b] as number))).toBeGreaterThanOrEqual(1 - 1e-6);
        }
      }),
    );
  });

  it("keeps the order of existing nodes when one is added", () => {
    fc.assert(
      fc.property(graphArbitrary, ({ count, edges }) => {
        const old = layoutGraph(makeGraph(edges, Math.max(1, count - 1)));
        const now = layoutGraph(makeGraph(edges, count), old);
        for (let a = 0; a < count - 1; a++)
          for (let b = 0; b < count - 1; b++)
            if (
              old.columns[a] === old.columns[b] &&
              now.columns[a] === now.columns[b] &&
              (old.rows[a] as number) < (old.rows[b] as number)
            )
              expect(now.rows[a]).toBeLessThan(now.rows[b] as number);
      }),
    );
  });

  it("lays out five thousand nodes", () => {
    const edges = Array.from({ length: 8000 }, (_, at): [number, number] => [
      Math.floor((at % 4999) / 3),
      (at % 4999) + 1,
    ]);
    const graph = makeGraph(edges, 5000);
    const first = layoutGraph(graph);
    expect(first.rows).toHaveLength(5000);
    expect(layoutGraph(graph, first).columns).toEqual(first.columns);
  });
});

describe("placeInOrder", () => {
  it("grants desired positions if there is room, and shares the shift otherwise", () => {
    expect(
      placeInOrder([
        { middle: 0, size: 1 },
        { middle: 5, size: 1 },
      ]),
    ).toEqual([0, 5]);
    expect(
      placeInOrder([
        { middle: 3, size: 1 },
        { middle: 3, size: 1 },
      ]),
    ).toEqual([2.5, 3.5]);
    expect(placeInOrder([])).toEqual([]);
  });

  it("keeps order and distance for any input", () => {
    const position = fc.record({
      middle: fc.option(fc.integer({ min: -50, max: 50 }), { nil: undefined }),
      size: fc.constantFrom(0.3, 1),
    });
    fc.assert(
      fc.property(fc.array(position, { maxLength: 20 }), (desired) => {
        const middles = placeInOrder(desired);
        for (let at = 1; at < desired.length; at++) {
          const least = ((desired[at - 1]?.size ?? 0) + (desired[at]?.size ?? 0)) / 2;
          expect((middles[at] as number) - (middles[at - 1] as number)).toBeGreaterThanOrEqual(least - 1e-6);
        }
      }),
    );
  });
});
