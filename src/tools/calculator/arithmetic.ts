/**
 * Operators of the calculator. Results are exact where exact operands have an exact result of limited size, and
 * approximate otherwise. An operation without a result is reported through `fail`.
 */
import {
  add,
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
import { isExact, numberOf, type CalculatorValue } from "./value.ts";

/** Throws an `ExpressionError` with the message, at the position of the operator or function. */
export type FailExpression = (message: string) => never;

/** Bits of an exact number: about 3,000 digits. */
export const MAX_BITS = 10_000;
const MAX_ROOT = 64n;

export function approximateValue(value: number, fail: FailExpression): CalculatorValue {
  if (Number.isNaN(value)) fail("has no real result");
  if (!Number.isFinite(value)) fail("gives a number that is too large");
  return { approximate: value };
}

export function exactValue(value: Rational, fail: FailExpression): CalculatorValue {
  if (sizeOf(value) > MAX_BITS) fail("gives a number with too many digits");
  return { exact: value };
}

export function addValues(a: CalculatorValue, b: CalculatorValue, fail: FailExpression): CalculatorValue {
  if (isExact(a) && isExact(b)) return exactValue(add(a.exact, b.exact), fail);
  return approximateValue(numberOf(a) + numberOf(b), fail);
}

export function negateValue(value: CalculatorValue): CalculatorValue {
  return isExact(value) ? { exact: negate(value.exact) } : { approximate: -value.approximate };
}

export function multiplyValues(a: CalculatorValue, b: CalculatorValue, fail: FailExpression): CalculatorValue {
  if (isExact(a) && isExact(b)) return exactValue(multiply(a.exact, b.exact), fail);
  return approximateValue(numberOf(a) * numberOf(b), fail);
}

export function divideValues(a: CalculatorValue, b: CalculatorValue, fail: FailExpression): CalculatorValue {
  if (isZero(b)) fail("divides by zero");
  if (isExact(a) && isExact(b)) return exactValue(divide(a.exact, b.exact), fail);
  return approximateValue(numberOf(a) / numberOf(b), fail);
}

/** Returns the remainder of the division, with the sign of `a`. */
export function remainderOf(a: CalculatorValue, b: CalculatorValue, fail: FailExpression): CalculatorValue {
  if (isZero(b)) fail("divides by zero");
  if (!isExact(a) || !isExact(b)) return approximateValue(numberOf(a) % numberOf(b), fail);
  const times = truncate(divide(a.exact, b.exact));
  return exactValue(add(a.exact, negate(multiply(makeRational(times), b.exact))), fail);
}

export function raise(base: CalculatorValue, exponent: CalculatorValue, fail: FailExpression): CalculatorValue {
  if (isExact(base) && isExact(exponent)) {
    const result = raiseExactly(base.exact, exponent.exact, fail);
    if (result !== undefined) return result;
  }
  if (isZero(base) && isNegative(exponent)) fail("divides by zero");
  return approximateValue(numberOf(base) ** numberOf(exponent), fail);
}

export function takeRoot(value: CalculatorValue, degree: number, fail: FailExpression): CalculatorValue {
  const number = numberOf(value);
  if (isNegative(value) && degree % 2 === 0) fail("takes a root of a negative number");
  if (isExact(value)) {
    const root = findRoot(value.exact, degree);
    if (root !== undefined) return { exact: root };
  }
  return approximateValue(degree === 2 ? Math.sqrt(number) : Math.cbrt(number), fail);
}

export function compareValues(a: CalculatorValue, b: CalculatorValue): number {
  return isExact(a) && isExact(b) ? compare(a.exact, b.exact) : numberOf(a) - numberOf(b);
}

export function isZero(value: CalculatorValue): boolean {
  return isExact(value) ? value.exact.n === 0n : value.approximate === 0;
}

/** Checks the exact sign: the smallest numbers are zero as a double. */
export function isNegative(value: CalculatorValue): boolean {
  return isExact(value) ? value.exact.n < 0n : value.approximate < 0;
}

/** Returns true if the power is small enough to be computed exactly. */
export function isPowerComputable(base: Rational, times: bigint): boolean {
  return times <= MAX_BITS && (sizeOf(base) - 1) * Number(times) <= MAX_BITS;
}

function raiseExactly(base: Rational, { n, d }: Rational, fail: FailExpression): CalculatorValue | undefined {
  if (d > MAX_ROOT) return undefined;
  if (base.n === 0n && n < 0n) fail("divides by zero");
  // Only some fractional powers of negative numbers are real, so none is computed.
  if (d !== 1n && base.n < 0n) fail("raises a negative number to a fractional power");
  const root = d === 1n ? base : findRoot(base, Number(d));
  if (root === undefined) return undefined;
  if (isWhole(root) && (root.n === 0n || root.n === 1n)) return n === 0n ? { exact: ONE } : { exact: root };
  if (isWhole(root) && root.n === -1n) return { exact: n % 2n === 0n ? ONE : root };
  const times = n < 0n ? -n : n;
  // The size is estimated first, so that a power that is too long is never computed.
  if (!isPowerComputable(root, times)) fail("gives a number with too many digits");
  const [upper, lower] = [root.n ** times, root.d ** times];
  // Powers of coprime numbers are coprime, so there is nothing to reduce.
  if (n >= 0n) return exactValue({ n: upper, d: lower }, fail);
  return exactValue(upper < 0n ? { n: -lower, d: -upper } : { n: lower, d: upper }, fail);
}

function findRoot({ n, d }: Rational, degree: number): Rational | undefined {
  const upper = findWholeRoot(n < 0n ? -n : n, degree);
  const lower = upper === undefined ? undefined : findWholeRoot(d, degree);
  return upper === undefined || lower === undefined ? undefined : { n: n < 0n ? -upper : upper, d: lower };
}

export function factorialOf(value: CalculatorValue, fail: FailExpression): CalculatorValue {
  if (!isExact(value) || !isWhole(value.exact) || value.exact.n < 0n) return fail("needs an integer of at least 0");
  const { n } = value.exact;
  // The size is estimated first, so that a product that is too long is never computed.
  let bits = 0;
  for (let factor = 2; factor <= n && bits <= MAX_BITS; factor++) bits += Math.log2(factor);
  if (bits > MAX_BITS) fail("gives a number with too many digits");
  let product = 1n;
  for (let factor = 2n; factor <= n; factor++) product *= factor;
  return exactValue(makeRational(product), fail);
}
