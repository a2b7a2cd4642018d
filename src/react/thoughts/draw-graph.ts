/** Converts a graph layout to boxes and lines in pixels, or to the rows of an outline. */
import type { GraphView } from "../../client/index.ts";
import type { BoxMark, DrawnBox, DrawnLine, DrawingShape } from "./drawing-content.ts";
import { chooseBoxWidth, GRID, joinPoints, locate, MAX_OUTLINE_WIDTH, type Point } from "./grid.ts";
import type { GraphLayout } from "./layout-graph.ts";

export interface DrawnGraph extends DrawingShape {
  readonly lines: readonly (DrawnLine & { readonly from: number; readonly to: number })[];
}

/** Draws a layout as wide as the available width allows. */
export function drawGraph(layout: GraphLayout, available: number): DrawnGraph {
  const { index, columns, rows, rowCount, columnCount, lines } = layout;
  const boxWidth = chooseBoxWidth(available, columnCount);
  const { before, after } = listNeighbours(layout);
  const boxes = index.ids.map((_, at): DrawnBox => {
    const column = columns[at] as number;
    const row = rows[at] as number;
    return {
      key: `node ${at}`,
      column,
      row,
      before: before[at] ?? [],
      after: after[at] ?? [],
      height: GRID.height,
      ...locate(column, row, boxWidth),
    };
  });
  const end = locate(columnCount, rowCount, boxWidth);
  return {
    boxes,
    boxWidth,
    lines: lines.map(({ from, to, bends }) => {
      const [left, right] = [boxes[from] as DrawnBox, boxes[to] as DrawnBox];
      const first: Point = { x: left.x + boxWidth, y: left.y + GRID.height / 2 };
      const last: Point = { x: right.x, y: right.y + GRID.height / 2 };
      const points = bends.flatMap((row, at) => passAt(left.column + 1 + at, row, boxWidth));
      return { key: `${from} ${to}`, from, to, className: "", ...joinPoints([first, ...points, last]) };
    }),
    width: end.x - GRID.columnGap + GRID.around,
    height: end.y - GRID.rowGap + GRID.around,
  };
}

function listNeighbours({ index }: GraphLayout): { readonly before: number[][]; readonly after: number[][] } {
  const before: number[][] = index.ids.map(() => []);
  const after: number[][] = index.ids.map(() => []);
  for (const [from, to] of index.edges) {
    after[from]?.push(to);
    before[to]?.push(from);
  }
  return { before, after };
}

/** Steps in the order of an outline: each after its dependencies, otherwise as they are drawn. */
export function orderSteps({ columns, rows }: GraphLayout): readonly number[] {
  const measure = (at: number, by: ArrayLike<number>): number => by[at] as number;
  return [...columns.keys()].toSorted(
    (a, b) => measure(a, columns) - measure(b, columns) || measure(a, rows) - measure(b, rows),
  );
}

/** Draws the steps as rows in this order. A row names its dependencies, so there are no lines. */
export function drawGraphOutline(layout: GraphLayout, order: readonly number[], available: number): DrawnGraph {
  const boxWidth = Math.min(MAX_OUTLINE_WIDTH, available) - 2 * GRID.around;
  const { before, after } = listNeighbours(layout);
  const rowOf = new Map(order.map((at, row) => [at, row]));
  const findRows = (steps: readonly number[] = []): number[] => steps.map((at) => rowOf.get(at) as number);
  let y = GRID.around;
  const boxes = order.map((at, row): DrawnBox => {
    const height = before[at]?.length === 0 ? GRID.keptHeight : GRID.height;
    const box = { x: GRID.around, y, height, column: 0, row };
    y += height + GRID.rowGap;
    return { key: `node ${at}`, before: findRows(before[at]), after: findRows(after[at]), ...box };
  });
  return { boxes, boxWidth, lines: [], width: boxWidth + 2 * GRID.around, height: y - GRID.rowGap + GRID.around };
}

/** A line that passes a column runs straight through it. */
function passAt(column: number, row: number, boxWidth: number): Point[] {
  const { x, y } = locate(column, row, boxWidth);
  const middle = y + GRID.height / 2;
  return [
    { x, y: middle },
    { x: x + boxWidth, y: middle },
  ];
}

/** Adds what depends on the state of the steps: classes of the lines, and colours of the boxes in a small picture. */
export function colorGraph({ boxes, lines, ...drawing }: DrawnGraph, nodes: GraphView["nodes"]): DrawingShape {
  return {
    ...drawing,
    boxes: boxes.map((box, at) => ({ ...box, mark: MARKS[nodes[at]?.status ?? "planned"] })),
    lines: lines.map((line) => ({ ...line, className: chooseLineClass(nodes, line.from, line.to) })),
  };
}

const MARKS: { readonly [S in GraphView["nodes"][number]["status"]]: BoxMark | undefined } = {
  planned: undefined,
  running: "busy",
  complete: "kept",
  failed: "bad",
  skipped: "dead",
  interrupted: "bad",
};

/** Returns the CSS classes of a line: added by an expansion, and busy, dead or done by the status of its ends. */
function chooseLineClass(nodes: GraphView["nodes"], from: number, to: number): string {
  const [first, last] = [nodes[from], nodes[to]];
  const looks: string[] = [];
  if (last?.expandedFrom !== undefined && last.expandedFrom === first?.id) looks.push("loom-line-added");
  if (last?.status === "running") looks.push("loom-line-busy");
  else if (first?.status === "failed" || first?.status === "skipped") looks.push("loom-line-dead");
  else if (first?.status === "complete") looks.push("loom-line-done");
  return looks.join(" ");
}
