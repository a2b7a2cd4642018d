/**
 * Operators and functions of the calculator. Results are exact where exact operands have an exact result, and
 * approximate otherwise. An operation without a result throws an `OperationError`.
 */
import {
  bitLength,
  findRoot,
  floor,
  makeRational,
  parseDecimal,
  type Rational,
  round,
  scale,
  sizeOf,
  toDouble,
} from "./rational.ts";

/** An exact fraction, or a double once a function without an exact result was used. */
export type CalculatorValue = Rational | number;
export type CalculatorOperation = (...values: CalculatorValue[]) => CalculatorValue;

/** Why an operation has no result. The message continues a sentence that begins with the operator or function. */
export class OperationError extends Error {}

/** Bits of an exact number: about 3,000 digits. */
const MAX_BITS = 10_000;
/** The factorial of a larger number has more bits. */
const MAX_FACTORIAL = 1200n;
const MAX_ROOT = 64n;
/** Largest number of decimals for `round`. */
const MAX_ROUND = 100;
/** Digits of a double that are significant. */
const DOUBLE_DIGITS = 15;

export function isExact(value: CalculatorValue): value is Rational {
  return typeof value !== "number";
}

/** Throws if the value is not a number or too long. */
export function assertInRange(value: CalculatorValue): void {
  if (isExact(value)) {
    if (sizeOf(value) > MAX_BITS) fail("gives a number with too many digits");
  } else if (Number.isNaN(value)) fail("has no real result");
  else if (!Number.isFinite(value)) fail("gives a number that is too large");
}

export function readNumber(text: string): CalculatorValue {
  // Three digits are about ten bits. Numbers that are surely too long are not created.
  if (Math.abs(Number(/e(.*)/i.exec(text)?.[1] ?? 0)) > MAX_BITS / 3) fail("has too many digits");
  return parseDecimal(text);
}

const takeRemainder = requireDivisor(
  combine(
    // With a common denominator. The sign is that of the first operand.
    (a, b) => makeRational((a.n * b.d) % (b.n * a.d), a.d * b.d),
    (a, b) => a % b,
  ),
);

export const BINARY_OPERATORS: CalculatorOperators = {
  "+": combine(
    (a, b) => makeRational(a.n * b.d + b.n * a.d, a.d * b.d),
    (a, b) => a + b,
  ),
  "-": combine(
    (a, b) => makeRational(a.n * b.d - b.n * a.d, a.d * b.d),
    (a, b) => a - b,
  ),
  "*": combine(
    (a, b) => makeRational(a.n * b.n, a.d * b.d),
    (a, b) => a * b,
  ),
  "/": requireDivisor(
    combine(
      (a, b) => makeRational(a.n * b.d, a.d * b.n),
      (a, b) => a / b,
    ),
  ),
  "%": takeRemainder,
  "^": raise,
};

export const PREFIX_OPERATORS: CalculatorOperators = { "+": (value) => value, "-": negate, "√": takeSquareRoot };

export const POSTFIX_OPERATORS: CalculatorOperators = {
  "!": takeFactorial,
  "%": (value) => (isExact(value) ? scale(value, -2) : value / 100),
};

interface CalculatorOperators {
  readonly [symbol: string]: CalculatorOperation;
}

function negate(value: CalculatorValue): CalculatorValue {
  return isExact(value) ? { n: -value.n, d: value.d } : -value;
}

function raise(base: CalculatorValue, exponent: CalculatorValue): CalculatorValue {
  if (signOf(base) === 0 && signOf(exponent) < 0) fail("divides by zero");
  const power = isExact(base) && isExact(exponent) ? raiseExactly(base, exponent) : undefined;
  return power ?? numberOf(base) ** numberOf(exponent);
}

function raiseExactly(base: Rational, { n, d }: Rational): Rational | undefined {
  if (d > MAX_ROOT) return undefined;
  // Only some fractional powers of negative numbers are real, so none is computed.
  if (d !== 1n && base.n < 0n) fail("raises a negative number to a fractional power");
  const root = findRoot(base, Number(d));
  if (root === undefined) return undefined;
  const times = n < 0n ? -n : n;
  if (!isPowerComputable(root, times)) fail("gives a number with too many digits");
  const [upper, lower] = [root.n ** times, root.d ** times];
  return n < 0n ? makeRational(lower, upper) : { n: upper, d: lower };
}

/** Estimates the size, so that a power that is too long is never computed. */
function isPowerComputable(base: Rational, times: bigint): boolean {
  return BigInt(sizeOf(base) - 1) * times <= MAX_BITS;
}

function takeSquareRoot(value: CalculatorValue): CalculatorValue {
  if (signOf(value) < 0) fail("takes a root of a negative number");
  return (isExact(value) ? findRoot(value, 2) : undefined) ?? Math.sqrt(numberOf(value));
}

function takeCubeRoot(value: CalculatorValue): CalculatorValue {
  return (isExact(value) ? findRoot(value, 3) : undefined) ?? Math.cbrt(numberOf(value));
}

function takeFactorial(value: CalculatorValue): CalculatorValue {
  if (!isExact(value) || value.d !== 1n || value.n < 0n) return fail("needs an integer of at least 0");
  if (value.n > MAX_FACTORIAL) fail("gives a number with too many digits");
  let product = 1n;
  for (let factor = 2n; factor <= value.n; factor++) product *= factor;
  return makeRational(product);
}

/** Returns the logarithm, exact if the value is an integer power of the base. */
function takeLogarithm(value: CalculatorValue, base: CalculatorValue = makeRational(10n)): CalculatorValue {
  const baseNumber = numberOf(base);
  if (signOf(value) <= 0) fail("needs a positive number");
  if (baseNumber <= 0 || baseNumber === 1) fail("needs a positive base other than 1");
  const result = estimateLogarithm(value, baseNumber);
  const nearest = Math.round(result);
  if (isExact(value) && isExact(base) && Math.abs(result - nearest) < 1e-9) {
    const exponent = makeRational(BigInt(nearest));
    const isComputable = isPowerComputable(base, BigInt(Math.abs(nearest)));
    if (isComputable && compare(raise(base, exponent), value) === 0) return exponent;
  }
  return result;
}

function estimateLogarithm(value: CalculatorValue, base: number): number {
  const number = numberOf(value);
  if (isExact(value) && (number === 0 || number === Infinity)) {
    // Out of range for a double: log(value) = log(part) + shift · log(2), with part near 1.
    const { n, d } = value;
    const shift = bitLength(n) - bitLength(d);
    const part = shift >= 0 ? { n, d: d << BigInt(shift) } : { n: n << BigInt(-shift), d };
    return (Math.log(toDouble(part)) + shift * Math.LN2) / Math.log(base);
  }
  return base === 10 ? Math.log10(number) : base === 2 ? Math.log2(number) : Math.log(number) / Math.log(base);
}

/** Reads a double without the rounding errors of its last digits. */
function toExact(value: CalculatorValue): Rational {
  return isExact(value) ? value : parseDecimal(value.toPrecision(DOUBLE_DIGITS));
}

/** Creates a function that rounds to an integer, or to a number of decimals. */
function roundWith(toInteger: (value: Rational) => bigint): CalculatorOperation {
  return (value, digits = makeRational(0n)) => {
    const { n, d } = toExact(digits);
    const places = d === 1n ? Number(n) : Number.NaN;
    if (!(Math.abs(places) <= MAX_ROUND))
      return fail(`needs an integer number of digits from -${MAX_ROUND} to ${MAX_ROUND}`);
    const rounded = scale(makeRational(toInteger(scale(toExact(value), places))), -places);
    // Exact if the value had all digits up to these decimals.
    const isKnown = isExact(value) || Math.abs(value) * 10 ** places < 10 ** DOUBLE_DIGITS;
    return isKnown ? rounded : toDouble(rounded);
  };
}

function findBest(isBetter: (order: number) => boolean): CalculatorOperation {
  return (...values) => values.reduce((best, value) => (isBetter(compare(value, best)) ? value : best));
}

/** Rounds tiny results of sine and cosine to 0: a double cannot represent π exactly. */
function snapToZero(value: number): number {
  return Math.abs(value) < 1e-15 ? 0 : value;
}

function takeTangent(value: number): number {
  if (snapToZero(Math.cos(value)) === 0) fail("has no value for this angle");
  return snapToZero(Math.tan(value));
}

export interface CalculatorFunction {
  readonly min: number;
  readonly max: number;
  readonly apply: CalculatorOperation;
}

function takes(min: number, max: number, apply: CalculatorOperation): CalculatorFunction {
  return { min, max, apply };
}

/** A function of one argument whose result is approximate. */
function approximate(compute: (value: number) => number): CalculatorFunction {
  return takes(1, 1, (value) => compute(numberOf(value)));
}

/** For `min` and `max`. */
const MAX_ARGUMENTS = 1000;

export const FUNCTIONS: ReadonlyMap<string, CalculatorFunction> = new Map([
  ["sqrt", takes(1, 1, takeSquareRoot)],
  ["cbrt", takes(1, 1, takeCubeRoot)],
  ["abs", takes(1, 1, (value) => (signOf(value) < 0 ? negate(value) : value))],
  ["sign", takes(1, 1, (value) => makeRational(BigInt(signOf(value))))],
  [
    "min",
    takes(
      1,
      MAX_ARGUMENTS,
      findBest((order) => order < 0),
    ),
  ],
  [
    "max",
    takes(
      1,
      MAX_ARGUMENTS,
      findBest((order) => order > 0),
    ),
  ],
  ["round", takes(1, 2, roundWith(round))],
  ["floor", takes(1, 1, roundWith(floor))],
  [
    "ceil",
    takes(
      1,
      1,
      roundWith(({ n, d }) => -floor({ n: -n, d })),
    ),
  ],
  [
    "trunc",
    takes(
      1,
      1,
      roundWith(({ n, d }) => n / d),
    ),
  ],
  ["log", takes(1, 2, takeLogarithm)],
  ["log10", takes(1, 1, takeLogarithm)],
  ["log2", takes(1, 1, (value) => takeLogarithm(value, makeRational(2n)))],
  ["ln", takes(1, 1, (value) => takeLogarithm(value, Math.E))],
  ["exp", approximate(Math.exp)],
  ["sin", approximate((value) => snapToZero(Math.sin(value)))],
  ["cos", approximate((value) => snapToZero(Math.cos(value)))],
  ["tan", approximate(takeTangent)],
  ["asin", approximate(Math.asin)],
  ["acos", approximate(Math.acos)],
  ["atan", approximate(Math.atan)],
  ["pow", takes(2, 2, raise)],
  ["mod", takes(2, 2, takeRemainder)],
]);

export const CONSTANTS: ReadonlyMap<string, CalculatorValue> = new Map([
  ["pi", Math.PI],
  ["π", Math.PI],
  ["e", Math.E],
]);

type BinaryOperation = (a: CalculatorValue, b: CalculatorValue) => CalculatorValue;

function combine(
  exactly: (a: Rational, b: Rational) => Rational,
  approximately: (a: number, b: number) => number,
): BinaryOperation {
  return (a, b) => (isExact(a) && isExact(b) ? exactly(a, b) : approximately(numberOf(a), numberOf(b)));
}

function requireDivisor(operation: BinaryOperation): BinaryOperation {
  return (a, b) => (signOf(b) === 0 ? fail("divides by zero") : operation(a, b));
}

/** Returns a negative number, 0 or a positive number. */
function compare(a: CalculatorValue, b: CalculatorValue): number {
  return isExact(a) && isExact(b) ? Number(a.n * b.d - b.n * a.d) : numberOf(a) - numberOf(b);
}

/** Checks the exact sign: the smallest numbers are zero as a double. */
function signOf(value: CalculatorValue): number {
  return Math.sign(isExact(value) ? Number(value.n) : value);
}

function numberOf(value: CalculatorValue): number {
  return isExact(value) ? toDouble(value) : value;
}

function fail(message: string): never {
  throw new OperationError(message);
}
