/** Formats calculator values: integers in full, finite decimals without rounding noise, and other fractions rounded. */
import { type Rational, round } from "./rational.ts";
import { dropNoise, isExact, type CalculatorValue } from "./value.ts";

export interface FormattedValue {
  readonly text: string;
  /** False if the text is rounded or the value is approximate. */
  readonly isExact: boolean;
}

/** Maximum decimals of an exact decimal, and significant digits of a rounded one. */
const MAX_DECIMALS = 40;
const ROUNDED_DIGITS = 20;
/** Leading zeros written out; smaller numbers use scientific notation. */
const MAX_ZEROS = 20;

export function formatValue(value: CalculatorValue): FormattedValue {
  if (!isExact(value)) return { text: formatDouble(value.approximate), isExact: false };
  const { n, d } = value.exact;
  if (d === 1n) return { text: String(n), isExact: true };
  const decimals = countDecimals(d);
  if (decimals !== undefined && decimals <= MAX_DECIMALS)
    return { text: writeDigits((n * 10n ** BigInt(decimals)) / d, decimals), isExact: true };
  return { text: roundDigits(value.exact), isExact: false };
}

function formatDouble(value: number): string {
  const text = String(dropNoise(value));
  return text === "-0" ? "0" : text.replace("e+", "e");
}

/** Returns the number of decimals of 1/d, or undefined if it does not end or has too many. */
function countDecimals(d: bigint): number | undefined {
  let rest = d;
  let twos = 0;
  let fives = 0;
  while (rest % 2n === 0n && twos <= MAX_DECIMALS) {
    rest /= 2n;
    twos++;
  }
  while (rest % 5n === 0n && fives <= MAX_DECIMALS) {
    rest /= 5n;
    fives++;
  }
  return rest === 1n ? Math.max(twos, fives) : undefined;
}

/** `digits` is the number without its decimal point, which is `decimals` digits from the end. */
function writeDigits(digits: bigint, decimals: number): string {
  const sign = digits < 0n ? "-" : "";
  const text = String(digits < 0n ? -digits : digits).padStart(decimals + 1, "0");
  const behind = text.slice(text.length - decimals).replace(/0+$/, "");
  return `${sign}${text.slice(0, text.length - decimals)}${behind === "" ? "" : `.${behind}`}`;
}

function roundDigits(value: Rational): string {
  // Estimates the power of ten of the first digit from the lengths; it can be one too high.
  const length = (part: bigint): number => String(part < 0n ? -part : part).length;
  let power = length(value.n) - length(value.d);
  if (isBelowPower(value, power)) power--;
  let decimals = ROUNDED_DIGITS - 1 - power;
  let digits = round(scale(value, decimals));
  // 9.99… rounds to 10.0…, which has one more digit.
  if (length(digits) > ROUNDED_DIGITS) {
    power++;
    decimals--;
    digits /= 10n;
  }
  if (decimals >= 0 && power >= -MAX_ZEROS) return writeDigits(digits, decimals);
  return `${writeDigits(digits, ROUNDED_DIGITS - 1)}e${power}`;
}

function isBelowPower({ n, d }: Rational, power: number): boolean {
  const size = n < 0n ? -n : n;
  return power >= 0 ? size < d * 10n ** BigInt(power) : size * 10n ** BigInt(-power) < d;
}

function scale({ n, d }: Rational, decimals: number): Rational {
  return decimals >= 0 ? { n: n * 10n ** BigInt(decimals), d } : { n, d: d * 10n ** BigInt(-decimals) };
}
