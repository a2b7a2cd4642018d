/** Calculator values: exact fractions, or doubles once a function without an exact result was used. */
import { fromNumber, type Rational, toNumber } from "./rational.ts";

export type CalculatorValue = { readonly exact: Rational } | { readonly approximate: number };

export function isExact(value: CalculatorValue): value is { readonly exact: Rational } {
  return "exact" in value;
}

export function numberOf(value: CalculatorValue): number {
  return isExact(value) ? toNumber(value.exact) : value.approximate;
}

/** Returns the exact value. A double is first rounded to 15 significant digits. */
export function rationalOf(value: CalculatorValue): Rational {
  return isExact(value) ? value.exact : fromNumber(dropNoise(value.approximate));
}

export function dropNoise(value: number): number {
  return Number(value.toPrecision(15));
}
