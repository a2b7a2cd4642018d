/** Converts a folded tree to boxes and lines in pixels, and folds it so that it fits the available space. */
import type { ThoughtView, TreeView } from "../../client/index.ts";
import type { DrawnBox, DrawnLine } from "./drawing.tsx";
import { type DrawnThought, FOLD_LIMITS, type FoldOverrides, foldTree, NO_OVERRIDES } from "./fold-tree.ts";
import { layoutTree } from "./layout-tree.ts";
import { chooseBoxWidth, GRID, joinPoints, locate } from "./grid.ts";
import type { TreeIndex } from "./tree-index.ts";

export interface DrawnTree {
  readonly boxes: readonly DrawnBox[];
  readonly boxWidth: number;
  readonly lines: readonly DrawnLine[];
  readonly width: number;
  readonly height: number;
}

/** Position of the dot that connects all root thoughts. */
const START_X = 6;

export type ThoughtSize = "path" | "kept" | "small";

const HEIGHTS: { readonly [S in ThoughtSize]: number } = {
  path: GRID.pathHeight,
  kept: GRID.keptHeight,
  small: GRID.smallHeight,
};

/** The chosen path is large. Thoughts that are pruned or not evaluated take a single line, and so do placeholders. */
export function chooseSize(thought: ThoughtView | undefined, isOnPath: boolean): ThoughtSize {
  if (isOnPath) return "path";
  return thought?.status === "kept" || thought?.status === "abandoned" ? "kept" : "small";
}

function drawTree(
  index: TreeIndex,
  drawn: readonly DrawnThought[],
  { path }: Pick<TreeView, "path">,
  available: number,
): DrawnTree {
  const onPath = new Set(path);
  const items = drawn.map(({ parent, column, thoughtIndex }) => {
    const thought = thoughtIndex === undefined ? undefined : index.thoughts[thoughtIndex];
    return { parent, column, height: HEIGHTS[chooseSize(thought, thought !== undefined && onPath.has(thought.id))] };
  });
  const { middles, height, columnCount } = layoutTree(items, GRID.rowGap);
  const boxWidth = chooseBoxWidth(available, columnCount);
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
      x: locate(column, 0, boxWidth).x,
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
    const from = above === undefined ? start : { x: above.x + boxWidth, y: above.y + above.height / 2 };
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
  const width = locate(columnCount, 0, boxWidth).x - GRID.columnGap + GRID.around;
  return { boxes, boxWidth, lines: lines.toSorted(comparePath), width, height: height + 2 * GRID.around };
}

/** The path is drawn last, above other lines. */
function comparePath(a: DrawnLine, b: DrawnLine): number {
  return Number(a.className === "loom-line-path") - Number(b.className === "loom-line-path");
}

export interface FittedTree extends DrawnTree {
  readonly drawn: readonly DrawnThought[];
}

/**
 * Folds and draws a tree so that it fits the available height without scrolling, if possible. What the user opened is
 * drawn in addition: it does not fold other branches.
 */
export function fitTree(
  index: TreeIndex,
  tree: Pick<TreeView, "path">,
  overrides: FoldOverrides,
  available: { readonly width: number; readonly height: number },
): FittedTree {
  const fold = (given: FoldOverrides, limits: (typeof FOLD_LIMITS)[number]): FittedTree => {
    const drawn = foldTree(index, tree, given, limits);
    return { drawn, ...drawTree(index, drawn, tree, available.width) };
  };
  const [first, ...others] = FOLD_LIMITS;
  let limits: (typeof FOLD_LIMITS)[number] = first;
  let fitted = fold(NO_OVERRIDES, limits);
  for (const fewer of others) {
    if (fitted.height <= available.height) break;
    limits = fewer;
    fitted = fold(NO_OVERRIDES, limits);
  }
  const isChanged = overrides.toggled.size > 0 || overrides.more.size > 0 || overrides.selected !== undefined;
  return isChanged ? fold(overrides, limits) : fitted;
}
