/** Converts columns and rows to pixels, and draws lines between them. */
import type { Region } from "./drawn-region.ts";

export interface Point {
  readonly x: number;
  readonly y: number;
}

/** Sizes of boxes, gaps and margins in pixels. Keep in sync with `thoughts.css`. */
export const GRID = { width: 200, height: 58, smallHeight: 26, columnGap: 40, rowGap: 8, left: 28, around: 12 };

/** Returns the top left corner of a box. */
export function locate(column: number, row: number): Point {
  return {
    x: GRID.left + column * (GRID.width + GRID.columnGap),
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

function round(value: number): number {
  return Math.round(value * 10) / 10;
}
