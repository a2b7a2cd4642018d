/**
 * The result of validation: which field is wrong, which rule it breaks, and a message. Validators return faults; they
 * never throw on input.
 */
export type FaultRule = "field-missing" | "field-type" | "field-value" | "field-depth";

/** The first thing wrong with a value. */
export interface Fault {
  readonly rule: FaultRule;
  /** For example `items[2].text`; empty for the value itself. */
  readonly path: string;
  readonly message: string;
}

/** A value outside an open set. It is kept and reported as a warning. */
export interface Hint {
  readonly path: string;
  readonly message: string;
}

/** `value` has the wrong type or is missing. */
export function typeFault(path: string, expected: string, value: unknown): Fault {
  if (value == null) return faultOf("field-missing", path, `is missing; it must be ${expected}`);
  return valueFault(path, expected, value, "field-type");
}

/** `value` has the right type but is not allowed. */
export function valueFault(path: string, expected: string, value: unknown, rule: FaultRule = "field-value"): Fault {
  return faultOf(rule, path, `must be ${expected}, not ${describeValue(value)}`);
}

export function depthFault(path: string): Fault {
  return faultOf("field-depth", path, "is nested too deeply");
}

function faultOf(rule: FaultRule, path: string, what: string): Fault {
  return { rule, path, message: `\`${path}\` ${what}` };
}

export function unlistedHint(path: string, value: string, values: readonly string[]): Hint {
  return { path, message: `\`${path}\` is ${describeValue(value)}; expected one of ${values.join(", ")}` };
}

/** Describes a value for a message. Long strings are cut, arrays and objects are only named. */
export function describeValue(value: unknown): string {
  if (typeof value === "string") return JSON.stringify(value.slice(0, 40)) + (value.length > 40 ? "…" : "");
  if (value === undefined) return "missing";
  if (value === null || typeof value === "number" || typeof value === "boolean") return String(value);
  if (typeof value !== "object") return `a ${typeof value}`;
  if (typeof (value as { readonly then?: unknown }).then === "function") return "a promise; did you forget `await`?";
  return Array.isArray(value) ? "an array" : "an object";
}
