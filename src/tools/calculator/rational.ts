/**
 * Exact fractions of integers in lowest terms. Arithmetic has no rounding errors.
 *
 * Invariant: `d` is positive, and `n` and `d` have no common divisor.
 */
export interface Rational {
  readonly n: bigint;
  readonly d: bigint;
}

/** `d` must not be zero. */
export function makeRational(n: bigint, d: bigint = 1n): Rational {
  if (d === 1n) return { n, d };
  const divisor = gcd(magnitude(n), magnitude(d));
  const sign = d < 0n ? -1n : 1n;
  return { n: (sign * n) / divisor, d: (sign * d) / divisor };
}

/** Reads a decimal number such as `1.5e3`. */
export function parseDecimal(text: string): Rational {
  const [mantissa = "", power = "0"] = text.toLowerCase().split("e");
  const [before = "", behind = ""] = mantissa.split(".");
  return scale(makeRational(BigInt(before + behind)), Number(power) - behind.length);
}

/** Multiplies the value by a power of ten. */
export function scale({ n, d }: Rational, power: number): Rational {
  return power >= 0 ? makeRational(n * 10n ** BigInt(power), d) : makeRational(n, d * 10n ** BigInt(-power));
}

/** Returns the largest integer that is not greater. */
export function floor({ n, d }: Rational): bigint {
  const quotient = n / d;
  return n < 0n && quotient * d !== n ? quotient - 1n : quotient;
}

/** Rounds to the nearest integer; halves away from zero. */
export function round({ n, d }: Rational): bigint {
  const rounded = (magnitude(n) * 2n + d) / (2n * d);
  return n < 0n ? -rounded : rounded;
}

/** Returns the size of the larger of `n` and `d`, in bits. */
export function sizeOf({ n, d }: Rational): number {
  return Math.max(bitLength(n), bitLength(d));
}

export function bitLength(value: bigint): number {
  const hex = magnitude(value).toString(16);
  return hex === "0" ? 0 : 4 * (hex.length - 1) + (32 - Math.clz32(Number.parseInt(hex.charAt(0), 16)));
}

/** Returns the exact root, or undefined if it is not a fraction. The root of a negative number is negative. */
export function findRoot({ n, d }: Rational, degree: number): Rational | undefined {
  const upper = findWholeRoot(magnitude(n), degree);
  const lower = upper === undefined ? undefined : findWholeRoot(d, degree);
  return upper === undefined || lower === undefined ? undefined : { n: n < 0n ? -upper : upper, d: lower };
}

function findWholeRoot(value: bigint, degree: number): bigint | undefined {
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

/** Maximum decimals of an exact decimal, and significant digits of a rounded one. */
const MAX_DECIMALS = 40;
const ROUNDED_DIGITS = 20;
/** Leading zeros written out; smaller numbers use scientific notation. */
const MAX_ZEROS = 20;

/** Writes integers in full, finite decimals without rounding noise, and other fractions rounded. */
export function writeRational(value: Rational): { readonly text: string; readonly isExact: boolean } {
  if (value.d === 1n) return { text: String(value.n), isExact: true };
  const shifted = scale(value, MAX_DECIMALS);
  return shifted.d === 1n
    ? { text: writeDigits(shifted.n, MAX_DECIMALS), isExact: true }
    : { text: writeRounded(value), isExact: false };
}

/** Returns the nearest double, up to the last bit. Infinite or 0 if out of range. */
export function toDouble(value: Rational): number {
  // Has more digits than a double.
  return Number(writeRational(value).text);
}

function writeRounded(value: Rational): string {
  const countDigits = (part: bigint): number => String(magnitude(part)).length;
  const roundFrom = (power: number): bigint => round(scale(value, ROUNDED_DIGITS - 1 - power));
  // The power of ten of the first digit, or one less. Rounding up may add another digit.
  let power = countDigits(value.n) - countDigits(value.d) - 1;
  let digits = roundFrom(power);
  while (countDigits(digits) > ROUNDED_DIGITS) digits = roundFrom(++power);
  const decimals = ROUNDED_DIGITS - 1 - power;
  if (decimals >= 0 && power >= -MAX_ZEROS) return writeDigits(digits, decimals);
  return `${writeDigits(digits, ROUNDED_DIGITS - 1)}e${power}`;
}

/** `digits` is the number without its decimal point, which is `decimals` digits from the end. */
function writeDigits(digits: bigint, decimals: number): string {
  const text = String(magnitude(digits)).padStart(decimals + 1, "0");
  const behind = text.slice(text.length - decimals).replace(/0+$/, "");
  return `${digits < 0n ? "-" : ""}${text.slice(0, text.length - decimals)}${behind === "" ? "" : `.${behind}`}`;
}

function magnitude(value: bigint): bigint {
  return value < 0n ? -value : value;
}

function gcd(a: bigint, b: bigint): bigint {
  let [large, small] = a > b ? [a, b] : [b, a];
  while (small !== 0n) [large, small] = [small, large % small];
  return large;
}
