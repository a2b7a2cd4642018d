/** Converts a folded tree to boxes and lines in pixels. */
import type { TreeView } from "../../client/index.ts";
import type { DrawnBox, DrawnLine } from "./drawing.tsx";
import type { DrawnThought } from "./fold-tree.ts";
import { layoutTree } from "./layout-tree.ts";
import { GRID, joinPoints, locate } from "./grid.ts";
import type { TreeIndex } from "./tree-index.ts";

export interface DrawnTree {
  readonly boxes: readonly DrawnBox[];
  readonly lines: readonly DrawnLine[];
  readonly width: number;
  readonly height: number;
}

/** Position of the dot that connects all root thoughts. */
const START_X = 6;

/** A pruned thought without children takes a single line. */
function isSmall(
  { thoughtIndex, isOpen }: DrawnThought,
  { thoughts }: TreeIndex,
  onPath: ReadonlySet<string>,
): boolean {
  const thought = thoughtIndex === undefined ? undefined : thoughts[thoughtIndex];
  return thought === undefined || (thought.status === "pruned" && isOpen === undefined && !onPath.has(thought.id));
}

export function drawTree(
  index: TreeIndex,
  drawn: readonly DrawnThought[],
  { path }: Pick<TreeView, "path">,
): DrawnTree {
  const onPath = new Set(path);
  const items = drawn.map((each) => ({
    parent: each.parent,
    column: each.column,
    height: isSmall(each, index, onPath) ? GRID.smallHeight : GRID.height,
  }));
  const { middles, height, columnCount } = layoutTree(items, GRID.rowGap);
  const after: number[][] = drawn.map(() => []);
  for (const [at, { parent }] of drawn.entries()) if (parent >= 0) after[parent]?.push(at);
  const boxes = items.map(({ column, parent, height: own }, at): DrawnBox => {
    const row = middles[at] as number;
    return {
      key: drawn[at]?.key ?? "",
      column,
      row,
      before: parent < 0 ? [] : [parent],
      after: after[at] ?? [],
      x: locate(column, 0).x,
      y: GRID.around + row - own / 2,
      height: own,
    };
  });
  const firsts = drawn.flatMap(({ parent, column }, at) => (parent < 0 && column === 0 ? [middles[at] as number] : []));
  const start = { x: START_X, y: GRID.around + ((firsts[0] ?? 0) + (firsts.at(-1) ?? 0)) / 2 };
  const lines = drawn.flatMap(({ key, parent, column, thoughtIndex }, at): DrawnLine[] => {
    // The parent of an isolated thought in a later column is unknown, so it gets no line.
    if (parent < 0 && column > 0) return [];
    const above = boxes[parent];
    const box = boxes[at] as DrawnBox;
    const from = above === undefined ? start : { x: above.x + GRID.width, y: above.y + above.height / 2 };
    const thought = thoughtIndex === undefined ? undefined : index.thoughts[thoughtIndex];
    const className =
      thought === undefined
        ? "loom-line-rest"
        : onPath.has(thought.id)
          ? "loom-line-path"
          : thought.status === "pruned" || thought.status === "abandoned"
            ? "loom-line-dead"
            : "";
    return [{ key, className, ...joinPoints([from, { x: box.x, y: box.y + box.height / 2 }]) }];
  });
  const width = locate(columnCount, 0).x - GRID.columnGap + GRID.around;
  return { boxes, lines: lines.toSorted(comparePath), width, height: height + 2 * GRID.around };
}

/** The path is drawn last, above other lines. */
function comparePath(a: DrawnLine, b: DrawnLine): number {
  return Number(a.className === "loom-line-path") - Number(b.className === "loom-line-path");
}
