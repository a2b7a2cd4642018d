/**
 * Tidy tree layout in columns: each thought one column right of its parent, centred on its children, branches packed
 * closely. Takes linear time.
 *
 * Invariants: items in a column keep the gap; their vertical order does not change while the tree grows.
 */
export interface TreeItem {
  /** Index of the parent, which comes earlier in the list; -1 for a root. */
  readonly parent: number;
  readonly column: number;
  readonly height: number;
}

export interface TreeLayout {
  /** Vertical centre of each item. */
  readonly middles: Float64Array;
  readonly height: number;
  readonly columnCount: number;
}

/** One side of a branch outline, by column from right to left, so that the parent is appended. */
interface OutlineSide {
  readonly values: number[];
  shift: number;
}

interface Outline {
  top: OutlineSide;
  bottom: OutlineSide;
}

export function layoutTree(items: readonly TreeItem[], gap: number): TreeLayout {
  const children: number[][] = items.map(() => []);
  for (const [at, { parent }] of items.entries()) if (parent >= 0) children[parent]?.push(at);
  const middles = new Float64Array(items.length);
  const outlines: (Outline | undefined)[] = [];
  // Backwards: children come after their parent.
  for (let at = items.length - 1; at >= 0; at--) {
    const outline = joinBranches(children[at] ?? [], outlines, middles, gap);
    const half = (items[at] as TreeItem).height / 2;
    outline.top.values.push(-half - outline.top.shift);
    outline.bottom.values.push(half - outline.bottom.shift);
    outlines[at] = outline;
  }
  const floor: number[] = [];
  for (const [at, { parent, column }] of items.entries()) {
    if (parent >= 0) middles[at] = (middles[at] as number) + (middles[parent] as number);
    else middles[at] = placeRoot(outlines[at] as Outline, column, floor, gap);
  }
  const height = floor.reduce((most, row) => Math.max(most, row), 0);
  return { middles, height, columnCount: floor.length };
}

/** Stacks the branches of one parent. Their centres become relative to the parent's centre. */
function joinBranches(
  branches: readonly number[],
  outlines: (Outline | undefined)[],
  middles: Float64Array,
  gap: number,
): Outline {
  let joined: Outline | undefined;
  let last = 0;
  for (const branch of branches) {
    const outline = outlines[branch] as Outline;
    outlines[branch] = undefined;
    if (joined === undefined) {
      joined = outline;
      continue;
    }
    last = measureShift(joined, outline) + gap;
    middles[branch] = last;
    outline.top.shift += last;
    outline.bottom.shift += last;
    append(joined, outline);
  }
  if (joined === undefined) return { top: { values: [], shift: 0 }, bottom: { values: [], shift: 0 } };
  for (const branch of branches) middles[branch] = (middles[branch] as number) - last / 2;
  joined.top.shift -= last / 2;
  joined.bottom.shift -= last / 2;
  return joined;
}

function measureShift({ bottom }: Outline, { top }: Outline): number {
  let shift = -Infinity;
  for (let column = 0; column < Math.min(bottom.values.length, top.values.length); column++)
    shift = Math.max(shift, readSide(bottom, column) - readSide(top, column));
  return shift;
}

/** Visits only the shared columns, which makes all joins together linear. */
function append(upper: Outline, lower: Outline): void {
  if (upper.top.values.length < lower.top.values.length) upper.top = overwrite(lower.top, upper.top);
  upper.bottom =
    upper.bottom.values.length > lower.bottom.values.length ? overwrite(upper.bottom, lower.bottom) : lower.bottom;
}

function overwrite(long: OutlineSide, short: OutlineSide): OutlineSide {
  for (let column = 0; column < short.values.length; column++)
    long.values[long.values.length - 1 - column] = readSide(short, column) - long.shift;
  return long;
}

function readSide({ values, shift }: OutlineSide, column: number): number {
  return (values[values.length - 1 - column] as number) + shift;
}

/** Places a root branch directly below the previous ones. */
function placeRoot({ top, bottom }: Outline, column: number, floor: number[], gap: number): number {
  while (floor.length < column + top.values.length) floor.push(-gap);
  let middle = -Infinity;
  for (let at = 0; at < top.values.length; at++)
    middle = Math.max(middle, (floor[column + at] as number) + gap - readSide(top, at));
  for (let at = 0; at < bottom.values.length; at++) floor[column + at] = middle + readSide(bottom, at);
  return middle;
}
