/**
 * What a validator says of a value that does not fit: where, which rule, and what was expected, for people.
 * Validators return faults and never throw on input.
 */
export type FaultRule = "field-missing" | "field-type" | "field-value" | "field-depth";

export interface Fault {
  readonly rule: FaultRule;
  /** E.g. `items[2].text`; empty for the value itself. */
  readonly path: string;
  readonly message: string;
}

/** A value outside an open set: kept, and remarked upon. */
export interface Hint {
  readonly path: string;
  readonly message: string;
}

/** `value` is not what the field asks for. */
export function wrong(path: string, expected: string, value: unknown): Fault {
  if (value === undefined || value === null)
    return faultOf("field-missing", path, `is missing; it must be ${expected}`);
  return outside(path, expected, value, "field-type");
}

/** `value` has the right type, but is outside what is allowed. */
export function outside(path: string, expected: string, value: unknown, rule: FaultRule = "field-value"): Fault {
  return faultOf(rule, path, `must be ${expected}, not ${describeValue(value)}`);
}

export function tooDeep(path: string): Fault {
  return faultOf("field-depth", path, "nests too deeply");
}

function faultOf(rule: FaultRule, path: string, what: string): Fault {
  return { rule, path, message: `\`${path}\` ${what}` };
}

export function unlisted(path: string, value: string, values: readonly string[]): Hint {
  return { path, message: `\`${path}\` is ${describeValue(value)}, which is none of ${values.join(", ")}` };
}

/** Short enough for a message, whatever the value. */
export function describeValue(value: unknown): string {
  if (typeof value === "string") return JSON.stringify(value.slice(0, 40)) + (value.length > 40 ? "…" : "");
  if (value === undefined) return "missing";
  if (value === null || typeof value === "number" || typeof value === "boolean") return String(value);
  return Array.isArray(value) ? "an array" : "an object";
}
