/** Columns and rows in pixels, and the lines between what stands in them. */
import type { Region } from "./drawn-region.ts";

export interface Point {
  readonly x: number;
  readonly y: number;
}

/** Of a box, of one that is a single line, of the room around them, and of the room around all. `thoughts.css` knows them. */
export const GRID = { width: 200, height: 58, smallHeight: 26, columnGap: 40, rowGap: 8, left: 28, around: 12 };

/** Where a box of this column and row begins. */
export function locate(column: number, row: number): Point {
  return {
    x: GRID.left + column * (GRID.width + GRID.columnGap),
    y: GRID.around + row * (GRID.height + GRID.rowGap),
  };
}

/** A smooth line through points; it leaves and arrives level. */
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
