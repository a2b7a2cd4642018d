/** The functions and constants an expression may name. */
import {
  about,
  compareValues,
  exactly,
  isNegative,
  isRaisable,
  isZero,
  negateValue,
  raise,
  type Refuse,
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
import { isExact, numberOf, rationalOf, type Value } from "./value.ts";

export interface CalculatorFunction {
  readonly min: number;
  readonly max: number;
  apply(values: readonly Value[], refuse: Refuse): Value;
}

/** Arguments of `min` and `max`. */
const MANY = 1000;
/** Digits behind the point that `round` can be asked for. */
const MAX_ROUND = 100;

/** A function of one number. */
function unary(apply: (value: Value, refuse: Refuse) => Value): CalculatorFunction {
  return { min: 1, max: 1, apply: ([value], refuse) => apply(value as Value, refuse) };
}

/** One that has an exact result nearly never. */
function smooth(compute: (value: number) => number): CalculatorFunction {
  return unary((value, refuse) => about(compute(numberOf(value)), refuse));
}

/** One that gives a whole number. */
function whole(compute: (value: Rational) => bigint): CalculatorFunction {
  return unary((value) => hold(makeRational(compute(rationalOf(value))), value, 0));
}

/** Digits of a double that mean something. */
const MEANT = 1e15;

/** What was rounded to so many digits behind the point is exact only where the value had those digits. */
function hold(rounded: Rational, value: Value, places: number): Value {
  const isKnown = isExact(value) || Math.abs(value.about) * 10 ** places < MEANT;
  return isKnown ? { exact: rounded } : { about: toNumber(rounded) };
}

function pick(isBetter: (order: number) => boolean): CalculatorFunction {
  return {
    min: 1,
    max: MANY,
    apply: (values) => values.reduce((best, value) => (isBetter(compareValues(value, best)) ? value : best)),
  };
}

/** A sine of almost nothing is nothing: π cannot be written exactly. */
function near(value: number): number {
  return Math.abs(value) < 1e-15 ? 0 : value;
}

function tangent(value: number, refuse: Refuse): Value {
  if (near(Math.cos(value)) === 0) refuse("is a tangent that does not exist");
  return about(near(Math.tan(value)), refuse);
}

/** The logarithm, exactly where the value is a whole power of the base. */
function logarithm(value: Value, base: Value, refuse: Refuse): Value {
  const foot = numberOf(base);
  if (isZero(value) || isNegative(value)) refuse("is a logarithm of a number that is not positive");
  if (foot <= 0 || foot === 1) refuse("is a logarithm whose base is not positive, or is 1");
  const result = estimateLogarithm(value, foot);
  const nearest = Math.round(result);
  if (isExact(value) && isExact(base) && Math.abs(result - nearest) < 1e-9) {
    const exponent: Value = { exact: makeRational(BigInt(nearest)) };
    const isShort = isRaisable(base.exact, BigInt(Math.abs(nearest)));
    if (isShort && compareValues(raise(base, exponent, refuse), value) === 0) return exponent;
  }
  return about(result, refuse);
}

function estimateLogarithm(value: Value, base: number): number {
  const number = numberOf(value);
  if (isExact(value) && (number === 0 || number === Infinity)) {
    // No double holds it: its logarithm is that of a number near 1, and so many times that of 2.
    const { n, d } = value.exact;
    const shift = bitLength(n) - bitLength(d);
    const part = shift >= 0 ? { n, d: d << BigInt(shift) } : { n: n << BigInt(-shift), d };
    return (Math.log(toNumber(part)) + shift * Math.LN2) / Math.log(base);
  }
  return base === 10 ? Math.log10(number) : base === 2 ? Math.log2(number) : Math.log(number) / Math.log(base);
}

function roundTo([value, digits]: readonly Value[], refuse: Refuse): Value {
  const given = rationalOf(value as Value);
  const places = digits === undefined ? 0n : rationalOf(digits).n;
  if (digits !== undefined && (rationalOf(digits).d !== 1n || places < -MAX_ROUND || places > MAX_ROUND))
    return refuse(`rounds to a whole number of digits from -${MAX_ROUND} to ${MAX_ROUND}`);
  const factor = places < 0n ? makeRational(1n, 10n ** -places) : makeRational(10n ** places);
  const rounded = divide(makeRational(round(multiply(given, factor))), factor);
  return isExact(value as Value) ? exactly(rounded, refuse) : hold(rounded, value as Value, Number(places));
}

const TEN: Value = { exact: makeRational(10n) };
const TWO: Value = { exact: makeRational(2n) };

export const FUNCTIONS: ReadonlyMap<string, CalculatorFunction> = new Map<string, CalculatorFunction>([
  ["sqrt", unary((value, refuse) => takeRoot(value, 2, refuse))],
  ["cbrt", unary((value, refuse) => takeRoot(value, 3, refuse))],
  ["abs", unary((value) => (isNegative(value) ? negateValue(value) : value))],
  ["sign", unary((value) => ({ exact: makeRational(isZero(value) ? 0n : isNegative(value) ? -1n : 1n) }))],
  ["min", pick((order) => order < 0)],
  ["max", pick((order) => order > 0)],
  ["round", { min: 1, max: 2, apply: roundTo }],
  ["floor", whole(floor)],
  ["ceil", whole(({ n, d }) => -floor({ n: -n, d }))],
  ["trunc", whole(truncate)],
  ["log", { min: 1, max: 2, apply: ([value, base = TEN], refuse) => logarithm(value as Value, base, refuse) }],
  ["log10", unary((value, refuse) => logarithm(value, TEN, refuse))],
  ["log2", unary((value, refuse) => logarithm(value, TWO, refuse))],
  ["ln", unary((value, refuse) => logarithm(value, { about: Math.E }, refuse))],
  ["exp", smooth(Math.exp)],
  ["sin", smooth((value) => near(Math.sin(value)))],
  ["cos", smooth((value) => near(Math.cos(value)))],
  ["tan", unary((value, refuse) => tangent(numberOf(value), refuse))],
  ["asin", smooth(Math.asin)],
  ["acos", smooth(Math.acos)],
  ["atan", smooth(Math.atan)],
  ["pow", { min: 2, max: 2, apply: ([base, exponent], refuse) => raise(base as Value, exponent as Value, refuse) }],
  ["mod", { min: 2, max: 2, apply: ([a, b], refuse) => remainderOf(a as Value, b as Value, refuse) }],
]);

export const CONSTANTS: ReadonlyMap<string, Value> = new Map<string, Value>([
  ["pi", { about: Math.PI }],
  ["π", { about: Math.PI }],
  ["e", { about: Math.E }],
]);
