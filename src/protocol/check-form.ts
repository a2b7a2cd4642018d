/**
 * Holds a value against a form: says the first thing that is wrong with it, and remarks on what is unusual. It returns
 * and never throws, whatever the value.
 */
import { type Fault, type Hint, outside, tooDeep, unlisted, wrong } from "./fault.ts";
import type { Form, FormFields, FormSchema } from "./form.ts";
import { isDeeperThan, isJsonObject } from "./json.ts";

type Value = { readonly [field: string]: unknown };

/** The first fault in the fields of a value; what is in no field of the form is allowed. `path` is where the value is. */
export function findFault(fields: FormFields, value: Value, hints?: Hint[], path = ""): Fault | undefined {
  for (const { name, required, schema } of fields.values()) {
    const inner = value[name];
    if (!required && (inner === undefined || inner === null)) continue;
    const fault = checkValue(schema, inner, path + name, hints);
    if (fault !== undefined) return fault;
  }
  return undefined;
}

function checkValue(schema: FormSchema, value: unknown, path: string, hints: Hint[] | undefined): Fault | undefined {
  const { tag, values, of } = schema;
  switch (tag) {
    case "s":
    case "~":
      if (typeof value !== "string") return wrong(path, "a string", value);
      if (tag === "~" && hints !== undefined && !values.includes(value)) hints.push(unlisted(path, value, values));
      return undefined;
    case "b":
      return typeof value === "boolean" ? undefined : wrong(path, "true or false", value);
    case "n":
    case "i":
      return checkNumber(schema, value, path);
    case "j":
      if (value === undefined) return wrong(path, "a JSON value", value);
      return isDeeperThan(value) ? tooDeep(path) : undefined;
    case "m":
      if (!isJsonObject(value)) return wrong(path, "an object", value);
      return isDeeperThan(value) ? tooDeep(path) : undefined;
    case "=": {
      if (values.includes(value as string)) return undefined;
      const expected = values.length === 1 ? JSON.stringify(values[0]) : `one of ${values.join(", ")}`;
      return (typeof value === "string" ? outside : wrong)(path, expected, value);
    }
    case "[":
      if (!Array.isArray(value)) return wrong(path, "an array", value);
      for (let index = 0; index < value.length; index++) {
        const fault = checkValue(of as FormSchema, value[index], `${path}[${index}]`, hints);
        if (fault !== undefined) return fault;
      }
      return undefined;
    case "{":
      return isJsonObject(value) ? findFault(schema.fields, value, hints, `${path}.`) : wrong(path, "an object", value);
    case "!":
      if (value === undefined) return wrong(path, "present, if only as null", value);
      return value === null ? undefined : checkValue(of as FormSchema, value, path, hints);
    case "/":
      if (typeof value !== "string") return checkValue(of as FormSchema, value, path, hints);
      if (values.includes(value)) return undefined;
      return outside(path, `${values.map((text) => JSON.stringify(text)).join(", ")} or an object`, value);
  }
}

function checkNumber({ tag, min, max }: FormSchema, value: unknown, path: string): Fault | undefined {
  const noun = tag === "i" ? "a whole number" : "a finite number";
  if (typeof value !== "number") return wrong(path, noun, value);
  if (Number[tag === "i" ? "isInteger" : "isFinite"](value) && value >= min && value <= max) return undefined;
  const top = max === Number.MAX_SAFE_INTEGER ? "2^53-1" : max;
  const range = min === -Infinity ? "" : max === Infinity ? `, at least ${min}` : ` from ${min} to ${top}`;
  return outside(path, noun + range, value);
}

/**
 * The event of a type in a flat frame that has `count` fields beside its type and its envelope: its fields in the
 * declared order. It gives up, without a word, at whatever is out of the ordinary: a fault, a field the form does not
 * know, a null that means nothing, a value outside an open set.
 */
export function readForm(type: string, form: Form, value: Value, count: number): object | undefined {
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
