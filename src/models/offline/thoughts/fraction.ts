/** Exact fractions in lowest terms. Results beyond the safe integers of JavaScript are undefined. */
export interface Fraction {
  readonly n: number;
  /** Always positive. */
  readonly d: number;
}

export type Operator = "+" | "-" | "*" | "/";

export function createFraction(n: number, d = 1): Fraction | undefined {
  if (d === 0 || !Number.isSafeInteger(n) || !Number.isSafeInteger(d)) return undefined;
  const shared = findDivisor(Math.abs(n), Math.abs(d)) * Math.sign(d);
  // Avoids -0.
  return { n: n / shared + 0, d: d / shared };
}

export function combine(a: Fraction, operator: Operator, b: Fraction): Fraction | undefined {
  if (operator === "+") return createFraction(a.n * b.d + b.n * a.d, a.d * b.d);
  if (operator === "-") return createFraction(a.n * b.d - b.n * a.d, a.d * b.d);
  if (operator === "*") return createFraction(a.n * b.n, a.d * b.d);
  return createFraction(a.n * b.d, a.d * b.n);
}

export function isSame(a: Fraction, b: Fraction): boolean {
  return a.n === b.n && a.d === b.d;
}

export function toNumber({ n, d }: Fraction): number {
  return n / d;
}

export function writeFraction({ n, d }: Fraction): string {
  return d === 1 ? String(n) : `${n}/${d}`;
}

const FRACTION = /^(-?\d{1,15})(?:\/(\d{1,15}))?$/;

export function readFraction(text: string): Fraction | undefined {
  const [, n, d = "1"] = FRACTION.exec(text) ?? [];
  return n === undefined ? undefined : createFraction(Number(n), Number(d));
}

function findDivisor(a: number, b: number): number {
  while (b !== 0) [a, b] = [b, a % b];
  return a;
}
