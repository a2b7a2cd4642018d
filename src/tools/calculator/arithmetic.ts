/**
 * The operators of the calculator on its values. Exact on exact ones wherever there is an exact result that is not too
 * long; what has no result is a fault with words for it.
 */
import {
  add,
  bitLength,
  compare,
  divide,
  findWholeRoot,
  isWhole,
  makeRational,
  multiply,
  negate,
  ONE,
  type Rational,
  sizeOf,
  truncate,
} from "./rational.ts";
import { isExact, numberOf, type Value } from "./value.ts";

/** Given words, throws them as a fault with its place. */
export type Refuse = (message: string) => never;

/** Bits of an exact number: about 3,000 digits. */
export const MAX_BITS = 10_000;
const MAX_ROOT = 64n;

export function about(value: number, refuse: Refuse): Value {
  if (Number.isNaN(value)) refuse("has no real result");
  if (!Number.isFinite(value)) refuse("is too large");
  return { about: value };
}

export function exactly(value: Rational, refuse: Refuse): Value {
  if (sizeOf(value) > MAX_BITS) refuse("has too many digits");
  return { exact: value };
}

export function addValues(a: Value, b: Value, refuse: Refuse): Value {
  if (isExact(a) && isExact(b)) return exactly(add(a.exact, b.exact), refuse);
  return about(numberOf(a) + numberOf(b), refuse);
}

export function negateValue(value: Value): Value {
  return isExact(value) ? { exact: negate(value.exact) } : { about: -value.about };
}

export function multiplyValues(a: Value, b: Value, refuse: Refuse): Value {
  if (isExact(a) && isExact(b)) return exactly(multiply(a.exact, b.exact), refuse);
  return about(numberOf(a) * numberOf(b), refuse);
}

export function divideValues(a: Value, b: Value, refuse: Refuse): Value {
  if (isZero(b)) refuse("is a division by zero");
  if (isExact(a) && isExact(b)) return exactly(divide(a.exact, b.exact), refuse);
  return about(numberOf(a) / numberOf(b), refuse);
}

/** What is left of `a` after as many whole `b` as fit; it has the sign of `a`. */
export function remainderOf(a: Value, b: Value, refuse: Refuse): Value {
  if (isZero(b)) refuse("is a division by zero");
  if (!isExact(a) || !isExact(b)) return about(numberOf(a) % numberOf(b), refuse);
  const times = truncate(divide(a.exact, b.exact));
  return exactly(add(a.exact, negate(multiply(makeRational(times), b.exact))), refuse);
}

export function raise(base: Value, exponent: Value, refuse: Refuse): Value {
  if (isExact(base) && isExact(exponent)) {
    const made = raiseExactly(base.exact, exponent.exact, refuse);
    if (made !== undefined) return made;
  }
  if (isZero(base) && isNegative(exponent)) refuse("is a division by zero");
  return about(numberOf(base) ** numberOf(exponent), refuse);
}

export function takeRoot(value: Value, degree: number, refuse: Refuse): Value {
  const number = numberOf(value);
  if (isNegative(value) && degree % 2 === 0) refuse("is a root of a negative number");
  if (isExact(value)) {
    const root = findRoot(value.exact, degree);
    if (root !== undefined) return { exact: root };
  }
  return about(degree === 2 ? Math.sqrt(number) : Math.cbrt(number), refuse);
}

export function compareValues(a: Value, b: Value): number {
  return isExact(a) && isExact(b) ? compare(a.exact, b.exact) : numberOf(a) - numberOf(b);
}

export function isZero(value: Value): boolean {
  return isExact(value) ? value.exact.n === 0n : value.about === 0;
}

/** By its sign and not by its double, which is zero for the smallest numbers. */
export function isNegative(value: Value): boolean {
  return isExact(value) ? value.exact.n < 0n : value.about < 0;
}

/** True when a power is not too long to be computed exactly. */
export function isRaisable(base: Rational, times: bigint): boolean {
  return times <= MAX_BITS && (sizeOf(base) - 1) * Number(times) <= MAX_BITS;
}

function raiseExactly(base: Rational, { n, d }: Rational, refuse: Refuse): Value | undefined {
  if (d > MAX_ROOT) return undefined;
  if (base.n === 0n && n < 0n) refuse("is a division by zero");
  // A negative number has a real power of a fraction only sometimes: better none than a surprise.
  if (d !== 1n && base.n < 0n) refuse("is a power of a negative number that is not real");
  const root = d === 1n ? base : findRoot(base, Number(d));
  if (root === undefined) return undefined;
  if (isWhole(root) && (root.n === 0n || root.n === 1n)) return n === 0n ? { exact: ONE } : { exact: root };
  if (isWhole(root) && root.n === -1n) return { exact: n % 2n === 0n ? ONE : root };
  const times = n < 0n ? -n : n;
  // Its size is known before: what is too long is not computed at all.
  if (!isRaisable(root, times)) refuse("has too many digits");
  const [upper, lower] = [root.n ** times, root.d ** times];
  // Powers of numbers without a common divisor have none either: nothing is to be reduced.
  if (n >= 0n) return exactly({ n: upper, d: lower }, refuse);
  return exactly(upper < 0n ? { n: -lower, d: -upper } : { n: lower, d: upper }, refuse);
}

function findRoot({ n, d }: Rational, degree: number): Rational | undefined {
  const upper = findWholeRoot(n < 0n ? -n : n, degree);
  const lower = upper === undefined ? undefined : findWholeRoot(d, degree);
  return upper === undefined || lower === undefined ? undefined : { n: n < 0n ? -upper : upper, d: lower };
}

export function factorialOf(value: Value, refuse: Refuse): Value {
  if (!isExact(value) || !isWhole(value.exact) || value.exact.n < 0n)
    return refuse("is a factorial of something else than a whole number from 0 on");
  const { n } = value.exact;
  if (n > 10_000n) refuse("has too many digits");
  let product = 1n;
  for (let factor = 2n; factor <= n; factor++) {
    product *= factor;
    if (bitLength(product) > MAX_BITS) refuse("has too many digits");
  }
  return { exact: makeRational(product) };
}
