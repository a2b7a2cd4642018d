/**
 * A number as the calculator holds it: exact as long as it can be, a double from the first function on that has no
 * exact result.
 */
import { fromNumber, type Rational, toNumber } from "./rational.ts";

export type Value = { readonly exact: Rational } | { readonly about: number };

export function isExact(value: Value): value is { readonly exact: Rational } {
  return "exact" in value;
}

export function numberOf(value: Value): number {
  return isExact(value) ? toNumber(value.exact) : value.about;
}

/** The value itself, or the number that is meant by a double: without the noise behind its fifteenth digit. */
export function rationalOf(value: Value): Rational {
  return isExact(value) ? value.exact : fromNumber(clean(value.about));
}

export function clean(value: number): number {
  return Number(value.toPrecision(15));
}
