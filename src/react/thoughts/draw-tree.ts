/**
 * Converts a folded tree to boxes and lines in pixels, and folds it so that it fits the available space. Levels are columns,
 * on a phone the rows of an outline. The canvas draws the whole tree, either way.
 */
import type { TreeView } from "../../client/index.ts";
import type { ThoughtView } from "../../client/view.ts";
import type { BoxMark, DrawnBox, DrawnLine, DrawingShape, ViewportSize } from "./drawing-content.ts";
import {
  CANVAS_LIMITS,
  type DrawnThought,
  FOLD_LIMITS,
  type FoldLimits,
  type FoldOverrides,
  foldTree,
  NO_OVERRIDES,
} from "./fold-tree.ts";
import { layoutTree } from "./layout-tree.ts";
import { chooseBoxWidth, GRID, isPhone, joinByElbow, joinPoints, locate, MAX_OUTLINE_WIDTH } from "./grid.ts";
import type { TreeIndex } from "./tree-index.ts";

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

/** What both layouts of a tree need. */
interface MeasuredTree {
  readonly drawn: readonly DrawnThought[];
  readonly heights: readonly number[];
  /** Positions of the children of each thought. */
  readonly after: readonly (readonly number[])[];
  readonly available: number;
}

/** Boxes of a layout, and how it draws the line to a thought; the parent is undefined for a root. */
interface TreeArrangement extends Omit<DrawingShape, "lines"> {
  readonly join: (parent: DrawnBox | undefined, box: DrawnBox) => Pick<DrawnLine, "d" | "region">;
}

function drawTree(
  index: TreeIndex,
  drawn: readonly DrawnThought[],
  { path }: Pick<TreeView, "path">,
  available: number,
  isOutline: boolean,
): DrawingShape {
  const onPath = new Set(path);
  const thoughts = drawn.map(({ thoughtIndex }) =>
    thoughtIndex === undefined ? undefined : index.thoughts[thoughtIndex],
  );
  const heights = thoughts.map(
    (thought) => HEIGHTS[chooseSize(thought, thought !== undefined && onPath.has(thought.id))],
  );
  const after: number[][] = drawn.map(() => []);
  for (const [at, { parent }] of drawn.entries()) if (parent >= 0) after[parent]?.push(at);
  const tree = { drawn, heights, after, available };
  const { join, ...arranged } = isOutline ? arrangeOutline(tree) : arrangeColumns(tree);
  const boxes = arranged.boxes.map((box, at) => ({ ...box, mark: chooseMark(thoughts[at], onPath) }));
  const lines = drawn.flatMap(({ key, parent, column }, at): DrawnLine[] => {
    // The parent of an isolated thought in a later column is unknown, so it gets no line.
    if (parent < 0 && column > 0) return [];
    const thought = thoughts[at];
    const className =
      thought === undefined
        ? "loom-line-rest"
        : onPath.has(thought.id)
          ? "loom-line-path"
          : thought.status === "pruned" || thought.status === "abandoned"
            ? "loom-line-dead"
            : "";
    return [{ key, className, ...join(boxes[parent], boxes[at] as DrawnBox) }];
  });
  return { ...arranged, boxes, lines: lines.toSorted(comparePath) };
}

function chooseMark(thought: ThoughtView | undefined, onPath: ReadonlySet<string>): BoxMark | undefined {
  if (thought !== undefined && onPath.has(thought.id)) return "path";
  if (thought?.status === "kept") return "kept";
  return thought?.status === "open" ? undefined : "dead";
}

/** Each level is a column. */
function arrangeColumns({ drawn, heights, after, available }: MeasuredTree): TreeArrangement {
  const items = drawn.map(({ parent, column }, at) => ({ parent, column, height: heights[at] as number }));
  const { middles, height, columnCount } = layoutTree(items, GRID.rowGap);
  const boxWidth = chooseBoxWidth(available, columnCount);
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
  const width = locate(columnCount, 0, boxWidth).x - GRID.columnGap + GRID.around;
  return {
    boxes,
    boxWidth,
    width,
    height: height + 2 * GRID.around,
    join: (above, box) => {
      const from = above === undefined ? start : { x: above.x + boxWidth, y: above.y + above.height / 2 };
      return joinPoints([from, { x: box.x, y: box.y + box.height / 2 }]);
    },
  };
}

/** Indent of a level in an outline, the position of its line, and the least width of a box. */
const INDENT = { most: 16, line: 8, boxWidth: 140 };

/** Each thought is a row below its parent, a little indented, so that no part of the tree is beside the screen. */
function arrangeOutline({ drawn, heights, after, available }: MeasuredTree): TreeArrangement {
  const levels = Math.max(1, ...drawn.map(({ column }) => column));
  const room = available - GRID.left - GRID.around;
  const indent = Math.max(1, Math.min(INDENT.most, Math.floor((room - INDENT.boxWidth) / levels)));
  const boxWidth = Math.max(INDENT.boxWidth, room - levels * indent);
  const tops = new Float64Array(drawn.length);
  let y = GRID.around;
  const waiting = drawn.flatMap(({ parent }, at) => (parent < 0 ? [at] : [])).toReversed();
  for (let at = waiting.pop(); at !== undefined; at = waiting.pop()) {
    tops[at] = y;
    y += (heights[at] as number) + GRID.rowGap;
    waiting.push(...(after[at] ?? []).toReversed());
  }
  const boxes = drawn.map(({ key, parent, column }, at): DrawnBox => {
    const [top, height] = [tops[at] as number, heights[at] as number];
    return {
      key,
      column,
      row: top - GRID.around + height / 2,
      before: parent < 0 ? [] : [parent],
      after: after[at] ?? [],
      x: GRID.left + column * indent,
      y: top,
      height,
    };
  });
  return {
    boxes,
    boxWidth,
    width: GRID.left + levels * indent + boxWidth + GRID.around,
    height: Math.max(y - GRID.rowGap, GRID.around) + GRID.around,
    join: (above, box) => {
      const line = Math.min(INDENT.line, indent / 2);
      const from =
        above === undefined ? { x: START_X, y: GRID.around } : { x: above.x + line, y: above.y + above.height };
      return joinByElbow(from, { x: box.x, y: box.y + box.height / 2 });
    },
  };
}

/** The path is drawn last, above other lines. */
function comparePath(a: DrawnLine, b: DrawnLine): number {
  return Number(a.className === "loom-line-path") - Number(b.className === "loom-line-path");
}

export interface FittedTree extends DrawingShape {
  readonly drawn: readonly DrawnThought[];
}

/** Folds a tree as the user wants and draws it in the available size. */
export type DrawTree = (
  index: TreeIndex,
  tree: Pick<TreeView, "path">,
  overrides: FoldOverrides,
  available: ViewportSize,
) => FittedTree;

/**
 * Folds and draws a tree so that it fits the available height without scrolling, if possible. What the user opened is
 * drawn in addition: it does not fold other branches.
 */
export const fitTree: DrawTree = (index, tree, overrides, available) => {
  const fold = (given: FoldOverrides, limits: FoldLimits): FittedTree => {
    const drawn = foldTree(index, tree, given, limits);
    return { drawn, ...drawTree(index, drawn, tree, available.width, isPhone(available.width)) };
  };
  const [first, ...others] = FOLD_LIMITS;
  let limits: FoldLimits = first;
  let fitted = fold(NO_OVERRIDES, limits);
  for (const fewer of others) {
    if (fitted.height <= available.height) break;
    limits = fewer;
    fitted = fold(NO_OVERRIDES, limits);
  }
  const isChanged = overrides.toggled.size > 0 || overrides.more.size > 0 || overrides.selected !== undefined;
  return isChanged ? fold(overrides, limits) : fitted;
};

/** Draws all thoughts, in columns of which some may be beside the view. */
export const drawWholeTree: DrawTree = (index, tree, overrides, available) => {
  const drawn = foldTree(index, tree, overrides, CANVAS_LIMITS);
  return { drawn, ...drawTree(index, drawn, tree, available.width, false) };
};

/** Draws all thoughts as the rows of an outline. */
export const drawOutline: DrawTree = (index, tree, overrides, available) => {
  const drawn = foldTree(index, tree, overrides, CANVAS_LIMITS);
  return { drawn, ...drawTree(index, drawn, tree, Math.min(MAX_OUTLINE_WIDTH, available.width), true) };
};
