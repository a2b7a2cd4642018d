/** Converts columns and rows to pixels, and draws lines between them. */
import type { Region } from "./drawn-region.ts";

export interface Point {
  readonly x: number;
  readonly y: number;
}

/** Sizes of boxes, gaps and margins in pixels. Keep in sync with `thoughts.css`. */
export const GRID = {
  /** Step of a graph. */
  height: 58,
  /** Thoughts: on the chosen path, kept, and those that take a single line. */
  pathHeight: 58,
  keptHeight: 42,
  smallHeight: 26,
  columnGap: 28,
  rowGap: 6,
  left: 20,
  around: 8,
};

/** On a phone, the columns do not fit anyway, so that boxes have room for their text. */
const BOX_WIDTH = { least: 112, leastOnPhone: 160, most: 280 };
const PHONE_PX = 560;
/** A drawing with fewer columns leaves room for more, so that its boxes do not shrink with each new column. */
const MIN_COLUMNS = 3;

/** Returns the width of boxes with which all columns fill the available width, within limits. */
export function chooseBoxWidth(available: number, columnCount: number): number {
  const columns = Math.max(MIN_COLUMNS, columnCount);
  const free = available - GRID.left - GRID.around - (columns - 1) * GRID.columnGap;
  const least = isPhone(available) ? BOX_WIDTH.leastOnPhone : BOX_WIDTH.least;
  return Math.floor(Math.min(BOX_WIDTH.most, Math.max(least, free / columns)));
}

/** Lines of text that are wider are hard to read. */
export const MAX_OUTLINE_WIDTH = 760;

/** Whether the available width has no room for columns of boxes with text. */
export function isPhone(available: number): boolean {
  return available < PHONE_PX;
}

/** Returns the top left corner of a box. */
export function locate(column: number, row: number, boxWidth: number): Point {
  return {
    x: GRID.left + column * (boxWidth + GRID.columnGap),
    y: GRID.around + row * (GRID.height + GRID.rowGap),
  };
}

/** Returns a smooth path through the points, horizontal at both ends. */
export function joinPoints(points: readonly [Point, ...Point[]]): { readonly d: string; readonly region: Region } {
  const [first, ...others] = points;
  let d = `M${round(first.x)} ${round(first.y)}`;
  let last = first;
  for (const point of others) {
    const middle = round((last.x + point.x) / 2);
    d += `C${middle} ${round(last.y)} ${middle} ${round(point.y)} ${round(point.x)} ${round(point.y)}`;
    last = point;
  }
  const xs = points.map(({ x }) => x);
  const ys = points.map(({ y }) => y);
  return {
    d,
    region: { left: Math.min(...xs), top: Math.min(...ys), right: Math.max(...xs), bottom: Math.max(...ys) },
  };
}

/** Returns a path down from the first point, and then across to the second. */
export function joinByElbow(from: Point, to: Point): { readonly d: string; readonly region: Region } {
  const d = `M${round(from.x)} ${round(from.y)}V${round(to.y)}H${round(to.x)}`;
  return { d, region: { left: from.x, top: from.y, right: to.x, bottom: to.y } };
}

function round(value: number): number {
  return Math.round(value * 10) / 10;
}
