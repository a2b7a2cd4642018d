/** Checks a value against a form. Returns the first fault and collects hints about unusual values; never throws. */
import { type Fault, type Hint, valueFault, depthFault, unlistedHint, typeFault } from "./fault.ts";
import type { Form, FormFields, FormSchema } from "./form.ts";
import { isDeeperThan, isJsonObject } from "./json.ts";

/** Hints collected about one value; a list can have an unusual value in each item. */
const MAX_HINTS = 100;

/** A JSON object whose fields are not checked yet. */
export type FieldValues = { readonly [field: string]: unknown };

/**
 * Returns the first fault in the fields of a value; if a field is missing, the fault names all that are. Fields that the
 * form does not define are allowed. `path` is the prefix for field names in messages.
 */
export function findFault(fields: FormFields, value: FieldValues, hints?: Hint[], path = ""): Fault | undefined {
  let missing: Fault | undefined;
  for (const { name, required, schema } of fields.values()) {
    const inner = value[name];
    const isMissing = inner == null;
    if (!required && isMissing) continue;
    const fault = checkValue(schema, inner, path + name, hints);
    if (fault === undefined) continue;
    if (isMissing) missing = missing ? { ...missing, message: `${missing.message}. ${fault.message}` } : fault;
    else if (!missing) return fault;
  }
  return missing;
}

function checkValue(schema: FormSchema, value: unknown, path: string, hints: Hint[] | undefined): Fault | undefined {
  const { tag, values, of } = schema;
  switch (tag) {
    case "s":
    case "~":
      if (typeof value !== "string") return typeFault(path, "a string", value);
      if (tag === "~" && hints !== undefined && hints.length < MAX_HINTS && !values.includes(value))
        hints.push(unlistedHint(path, value, values));
      return undefined;
    case "b":
      return typeof value === "boolean" ? undefined : typeFault(path, "true or false", value);
    case "x":
      if (typeof value === "string" || Number.isFinite(value)) return undefined;
      return typeFault(path, "a string or a finite number", value);
    case "n":
    case "i":
      return checkNumber(schema, value, path);
    case "j":
      if (value === undefined) return typeFault(path, "a JSON value", value);
      return isDeeperThan(value) ? depthFault(path) : undefined;
    case "m":
      if (!isJsonObject(value)) return typeFault(path, "an object", value);
      return isDeeperThan(value) ? depthFault(path) : undefined;
    case "=": {
      if (values.includes(value as string)) return undefined;
      const expected = values.length === 1 ? JSON.stringify(values[0]) : `one of ${values.join(", ")}`;
      return (typeof value === "string" ? valueFault : typeFault)(path, expected, value);
    }
    case "[":
      if (!Array.isArray(value)) return typeFault(path, "an array", value);
      for (let index = 0; index < value.length; index++) {
        const fault = checkValue(of as FormSchema, value[index], `${path}[${index}]`, hints);
        if (fault !== undefined) return fault;
      }
      return undefined;
    case "{":
      return isJsonObject(value)
        ? findFault(schema.fields, value, hints, `${path}.`)
        : typeFault(path, "an object", value);
    case "!":
      if (value === undefined) return typeFault(path, "present (null is allowed)", value);
      return value === null ? undefined : checkValue(of as FormSchema, value, path, hints);
    case "&":
      if (typeof value === "string") return undefined;
      if (typeof value === "object" && value !== null) return checkValue(of as FormSchema, value, path, hints);
      return typeFault(path, `a string or ${of?.tag === "[" ? "an array" : "an object"}`, value);
    case "/":
      if (typeof value !== "string") return checkValue(of as FormSchema, value, path, hints);
      if (values.includes(value)) return undefined;
      return valueFault(path, `${values.map((text) => JSON.stringify(text)).join(", ")} or an object`, value);
  }
}

function checkNumber({ tag, min, max }: FormSchema, value: unknown, path: string): Fault | undefined {
  const noun = tag === "i" ? "an integer" : "a finite number";
  if (typeof value !== "number") return typeFault(path, noun, value);
  if (Number[tag === "i" ? "isInteger" : "isFinite"](value) && value >= min && value <= max) return undefined;
  const top = max === Number.MAX_SAFE_INTEGER ? "2^53-1" : max;
  const range = min === -Infinity ? "" : max === Infinity ? `, at least ${min}` : ` from ${min} to ${top}`;
  return valueFault(path, noun + range, value);
}

/**
 * Reads an event from a flat frame that has `count` fields besides its type and its envelope. Returns the event with
 * its fields in the declared order, or undefined if the frame needs the slow path: it has a fault, an unknown field, a
 * null in an optional field, or a value outside an open set.
 */
export function readForm(type: string, form: Form, value: FieldValues, count: number): object | undefined {
  const event: { [field: string]: unknown } = { type };
  const hints: Hint[] = [];
  let left = count;
  for (const { name, required, schema } of form.fields.values()) {
    const inner = value[name];
    if (inner === undefined && !required) continue;
    if (inner === null && !required) return undefined;
    if (checkValue(schema, inner, name, hints) !== undefined) return undefined;
    event[name] = inner;
    left--;
  }
  return left === 0 && hints.length === 0 ? event : undefined;
}
