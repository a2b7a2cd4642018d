/** Functions and constants of the calculator. */
import {
  approximateValue,
  compareValues,
  exactValue,
  isNegative,
  isPowerComputable,
  isZero,
  negateValue,
  raise,
  type FailExpression,
  remainderOf,
  takeRoot,
} from "./arithmetic.ts";
import {
  bitLength,
  divide,
  floor,
  makeRational,
  multiply,
  type Rational,
  round,
  truncate,
  toNumber,
} from "./rational.ts";
import { isExact, numberOf, rationalOf, type CalculatorValue } from "./value.ts";

export interface CalculatorFunction {
  readonly min: number;
  readonly max: number;
  apply(values: readonly CalculatorValue[], fail: FailExpression): CalculatorValue;
}

/** For `min` and `max`. */
const MAX_ARGUMENTS = 1000;
/** Largest number of decimals for `round`. */
const MAX_ROUND = 100;

/** Creates a function of one argument. */
function unary(apply: (value: CalculatorValue, fail: FailExpression) => CalculatorValue): CalculatorFunction {
  return { min: 1, max: 1, apply: ([value], fail) => apply(value as CalculatorValue, fail) };
}

/** Creates a function whose result is approximate. */
function approximate(compute: (value: number) => number): CalculatorFunction {
  return unary((value, fail) => approximateValue(compute(numberOf(value)), fail));
}

/** Creates a function whose result is an integer. */
function toInteger(compute: (value: Rational) => bigint): CalculatorFunction {
  return unary((value) => markExactness(makeRational(compute(rationalOf(value))), value, 0));
}

/** A double has about 15 significant digits. */
const SIGNIFICANT_LIMIT = 1e15;

/** Marks a rounded value as exact if the original had all digits up to `places` decimals. */
function markExactness(rounded: Rational, value: CalculatorValue, places: number): CalculatorValue {
  const isKnown = isExact(value) || Math.abs(value.approximate) * 10 ** places < SIGNIFICANT_LIMIT;
  return isKnown ? { exact: rounded } : { approximate: toNumber(rounded) };
}

function pick(isBetter: (order: number) => boolean): CalculatorFunction {
  return {
    min: 1,
    max: MAX_ARGUMENTS,
    apply: (values) => values.reduce((best, value) => (isBetter(compareValues(value, best)) ? value : best)),
  };
}

/** Rounds tiny results of sine and cosine to 0: a double cannot represent π exactly. */
function snapToZero(value: number): number {
  return Math.abs(value) < 1e-15 ? 0 : value;
}

function tangent(value: number, fail: FailExpression): CalculatorValue {
  if (snapToZero(Math.cos(value)) === 0) fail("has no value for this angle");
  return approximateValue(snapToZero(Math.tan(value)), fail);
}

/** Computes the logarithm, exact if the value is an integer power of the base. */
function logarithm(value: CalculatorValue, base: CalculatorValue, fail: FailExpression): CalculatorValue {
  const baseNumber = numberOf(base);
  if (isZero(value) || isNegative(value)) fail("needs a positive number");
  if (baseNumber <= 0 || baseNumber === 1) fail("needs a positive base other than 1");
  const result = estimateLogarithm(value, baseNumber);
  const nearest = Math.round(result);
  if (isExact(value) && isExact(base) && Math.abs(result - nearest) < 1e-9) {
    const exponent: CalculatorValue = { exact: makeRational(BigInt(nearest)) };
    const isComputable = isPowerComputable(base.exact, BigInt(Math.abs(nearest)));
    if (isComputable && compareValues(raise(base, exponent, fail), value) === 0) return exponent;
  }
  return approximateValue(result, fail);
}

function estimateLogarithm(value: CalculatorValue, base: number): number {
  const number = numberOf(value);
  if (isExact(value) && (number === 0 || number === Infinity)) {
    // Out of range for a double: log(value) = log(part) + shift · log(2), with part near 1.
    const { n, d } = value.exact;
    const shift = bitLength(n) - bitLength(d);
    const part = shift >= 0 ? { n, d: d << BigInt(shift) } : { n: n << BigInt(-shift), d };
    return (Math.log(toNumber(part)) + shift * Math.LN2) / Math.log(base);
  }
  return base === 10 ? Math.log10(number) : base === 2 ? Math.log2(number) : Math.log(number) / Math.log(base);
}

function roundTo([value, digits]: readonly CalculatorValue[], fail: FailExpression): CalculatorValue {
  const given = rationalOf(value as CalculatorValue);
  const places = digits === undefined ? 0n : rationalOf(digits).n;
  if (digits !== undefined && (rationalOf(digits).d !== 1n || places < -MAX_ROUND || places > MAX_ROUND))
    return fail(`needs an integer number of digits from -${MAX_ROUND} to ${MAX_ROUND}`);
  const factor = places < 0n ? makeRational(1n, 10n ** -places) : makeRational(10n ** places);
  const rounded = divide(makeRational(round(multiply(given, factor))), factor);
  return isExact(value as CalculatorValue)
    ? exactValue(rounded, fail)
    : markExactness(rounded, value as CalculatorValue, Number(places));
}

const TEN: CalculatorValue = { exact: makeRational(10n) };
const TWO: CalculatorValue = { exact: makeRational(2n) };

export const FUNCTIONS: ReadonlyMap<string, CalculatorFunction> = new Map<string, CalculatorFunction>([
  ["sqrt", unary((value, fail) => takeRoot(value, 2, fail))],
  ["cbrt", unary((value, fail) => takeRoot(value, 3, fail))],
  ["abs", unary((value) => (isNegative(value) ? negateValue(value) : value))],
  ["sign", unary((value) => ({ exact: makeRational(isZero(value) ? 0n : isNegative(value) ? -1n : 1n) }))],
  ["min", pick((order) => order < 0)],
  ["max", pick((order) => order > 0)],
  ["round", { min: 1, max: 2, apply: roundTo }],
  ["floor", toInteger(floor)],
  ["ceil", toInteger(({ n, d }) => -floor({ n: -n, d }))],
  ["trunc", toInteger(truncate)],
  ["log", { min: 1, max: 2, apply: ([value, base = TEN], fail) => logarithm(value as CalculatorValue, base, fail) }],
  ["log10", unary((value, fail) => logarithm(value, TEN, fail))],
  ["log2", unary((value, fail) => logarithm(value, TWO, fail))],
  ["ln", unary((value, fail) => logarithm(value, { approximate: Math.E }, fail))],
  ["exp", approximate(Math.exp)],
  ["sin", approximate((value) => snapToZero(Math.sin(value)))],
  ["cos", approximate((value) => snapToZero(Math.cos(value)))],
  ["tan", unary((value, fail) => tangent(numberOf(value), fail))],
  ["asin", approximate(Math.asin)],
  ["acos", approximate(Math.acos)],
  ["atan", approximate(Math.atan)],
  [
    "pow",
    {
      min: 2,
      max: 2,
      apply: ([base, exponent], fail) => raise(base as CalculatorValue, exponent as CalculatorValue, fail),
    },
  ],
  ["mod", { min: 2, max: 2, apply: ([a, b], fail) => remainderOf(a as CalculatorValue, b as CalculatorValue, fail) }],
]);

export const CONSTANTS: ReadonlyMap<string, CalculatorValue> = new Map<string, CalculatorValue>([
  ["pi", { approximate: Math.PI }],
  ["π", { approximate: Math.PI }],
  ["e", { approximate: Math.E }],
]);
