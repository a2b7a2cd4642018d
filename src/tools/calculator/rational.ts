/**
 * Exact fractions of integers in lowest terms. Arithmetic has no rounding errors.
 *
 * Invariant: `d` is positive, and `n` and `d` have no common divisor.
 */
export interface Rational {
  readonly n: bigint;
  readonly d: bigint;
}

export const ONE: Rational = { n: 1n, d: 1n };

/** `d` must not be zero. */
export function makeRational(n: bigint, d: bigint = 1n): Rational {
  if (d === 1n) return { n, d };
  const divisor = gcd(n < 0n ? -n : n, d < 0n ? -d : d);
  const sign = d < 0n ? -1n : 1n;
  return { n: (sign * n) / divisor, d: (sign * d) / divisor };
}

export function add(a: Rational, b: Rational): Rational {
  return makeRational(a.n * b.d + b.n * a.d, a.d * b.d);
}

export function negate({ n, d }: Rational): Rational {
  return { n: -n, d };
}

export function multiply(a: Rational, b: Rational): Rational {
  return makeRational(a.n * b.n, a.d * b.d);
}

/** `b` must not be zero. */
export function divide(a: Rational, b: Rational): Rational {
  return makeRational(a.n * b.d, a.d * b.n);
}

export function compare(a: Rational, b: Rational): number {
  const left = a.n * b.d;
  const right = b.n * a.d;
  return left < right ? -1 : left > right ? 1 : 0;
}

export function isWhole({ d }: Rational): boolean {
  return d === 1n;
}

/** Returns the largest integer that is not greater. */
export function floor({ n, d }: Rational): bigint {
  const quotient = n / d;
  return n < 0n && quotient * d !== n ? quotient - 1n : quotient;
}

/** Rounds towards zero. */
export function truncate({ n, d }: Rational): bigint {
  return n / d;
}

/** Rounds to the nearest integer; halves away from zero. */
export function round({ n, d }: Rational): bigint {
  const rounded = ((n < 0n ? -n : n) * 2n + d) / (2n * d);
  return n < 0n ? -rounded : rounded;
}

/** Returns the size of the larger of `n` and `d`, in bits. */
export function sizeOf({ n, d }: Rational): number {
  return Math.max(bitLength(n), bitLength(d));
}

export function bitLength(value: bigint): number {
  const hex = (value < 0n ? -value : value).toString(16);
  return hex === "0" ? 0 : 4 * (hex.length - 1) + (32 - Math.clz32(Number.parseInt(hex.charAt(0), 16)));
}

/** Returns the nearest double, up to the last bit. Infinite if out of range. */
export function toNumber({ n, d }: Rational): number {
  // 64 bits more than the quotient needs, so that no precision of a double is lost.
  const shift = 64 - (bitLength(n) - bitLength(d));
  const quotient = shift >= 0 ? (n << BigInt(shift)) / d : n / (d << BigInt(-shift));
  // In two steps, because one power of two can be out of range when the result is not.
  const half = Math.trunc(shift / 2);
  return (Number(quotient) / 2 ** half) * 2 ** (half - shift);
}

/** Returns the exact value of a finite double. */
export function fromNumber(value: number): Rational {
  let scaled = value;
  let exponent = 0;
  // A finite double is an integer after at most 1074 doublings.
  while (!Number.isInteger(scaled)) {
    scaled *= 2;
    exponent++;
  }
  return makeRational(BigInt(scaled), 1n << BigInt(exponent));
}

/** Returns the integer root of a non-negative integer, or undefined if the root is not an integer. */
export function findWholeRoot(value: bigint, degree: number): bigint | undefined {
  if (value < 2n || degree === 1) return value;
  const k = BigInt(degree);
  // Newton's method from above: decreases until it reaches the root or the integer below it.
  let root = 1n << BigInt(Math.ceil(bitLength(value) / degree));
  for (;;) {
    const next = ((k - 1n) * root + value / root ** (k - 1n)) / k;
    if (next >= root) break;
    root = next;
  }
  return root ** k === value ? root : undefined;
}

function gcd(a: bigint, b: bigint): bigint {
  let [large, small] = a > b ? [a, b] : [b, a];
  while (small !== 0n) [large, small] = [small, large % small];
  return large;
}
