/**
 * A value as people write it: whole numbers in full, decimals without noise, what does not end rounded.
 */
import { type Rational, round } from "./rational.ts";
import { clean, isExact, type Value } from "./value.ts";

export interface FormattedValue {
  readonly text: string;
  /** False where digits were left out, or there was no exact result. */
  readonly isExact: boolean;
}

/** Digits of an exact decimal that are shown behind its point; those of one that is rounded, in all. */
const MAX_DECIMALS = 40;
const ROUNDED_DIGITS = 20;
/** Zeros that are written out; more make a power of ten. */
const MAX_ZEROS = 20;

export function formatValue(value: Value): FormattedValue {
  if (!isExact(value)) return { text: formatDouble(value.about), isExact: false };
  const { n, d } = value.exact;
  if (d === 1n) return { text: String(n), isExact: true };
  const decimals = countDecimals(d);
  if (decimals !== undefined && decimals <= MAX_DECIMALS)
    return { text: writeDigits((n * 10n ** BigInt(decimals)) / d, decimals), isExact: true };
  return { text: roundDigits(value.exact), isExact: false };
}

function formatDouble(value: number): string {
  const text = String(clean(value));
  return text === "-0" ? "0" : text.replace("e+", "e");
}

/** How many digits behind the point the decimal has; undefined when it does not end, or not soon. */
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

/** `digits` is the number without its point, which stands `decimals` digits from the end. */
function writeDigits(digits: bigint, decimals: number): string {
  const sign = digits < 0n ? "-" : "";
  const text = String(digits < 0n ? -digits : digits).padStart(decimals + 1, "0");
  const behind = text.slice(text.length - decimals).replace(/0+$/, "");
  return `${sign}${text.slice(0, text.length - decimals)}${behind === "" ? "" : `.${behind}`}`;
}

function roundDigits(value: Rational): string {
  // The power of ten of its first digit, by the lengths of both numbers; one too few at most.
  const length = (part: bigint): number => String(part < 0n ? -part : part).length;
  let power = length(value.n) - length(value.d);
  if (isBelowPower(value, power)) power--;
  let decimals = ROUNDED_DIGITS - 1 - power;
  let digits = round(scale(value, decimals));
  // 9.99… becomes 10.0…: one digit more.
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
