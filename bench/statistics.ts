/** Medians, spreads and growth of measured times. */

export interface Spread {
  readonly median: number;
  /** The quarter of the rounds below it was faster, and the quarter above the other one slower. */
  readonly quartiles: readonly [low: number, high: number];
}

export function spreadOf(values: readonly number[]): Spread {
  return { median: quantile(values, 0.5), quartiles: [quantile(values, 0.25), quantile(values, 0.75)] };
}

/** Ratios of two contestants, round by round, so that changes of the machine's load cancel out. */
export function compareRounds(theirs: readonly number[], ours: readonly number[]): Spread {
  return spreadOf(theirs.map((time, round) => time / (ours[round] ?? Number.NaN)));
}

/** Returns e of `cost per unit ~ size^e`, by least squares over the medians of all sizes. */
export function fitExponent(costs: ReadonlyMap<number, readonly number[]>): number {
  const points = [...costs].map(([size, times]) => [Math.log(size), Math.log(quantile(times, 0.5))] as const);
  const mean = (axis: 0 | 1): number => points.reduce((sum, point) => sum + point[axis], 0) / points.length;
  const [x, y] = [mean(0), mean(1)];
  const rise = points.reduce((sum, point) => sum + (point[0] - x) * (point[1] - y), 0);
  return rise / points.reduce((sum, point) => sum + (point[0] - x) ** 2, 0);
}

function quantile(values: readonly number[], part: number): number {
  const sorted = values.toSorted((a, b) => a - b);
  const at = (sorted.length - 1) * part;
  const [low = Number.NaN, high = Number.NaN] = [sorted[Math.floor(at)], sorted[Math.ceil(at)]];
  return low + (high - low) * (at % 1);
}
