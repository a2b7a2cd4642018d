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
  if (value === undefined || value === null) {
    return { rule: "field-missing", path, message: `\`${path}\` is missing; it must be ${expected}` };
  }
  return { rule: "field-type", path, message: `\`${path}\` must be ${expected}, not ${describeValue(value)}` };
}

/** `value` has the right type, but is outside what is allowed. */
export function outside(path: string, expected: string, value: unknown): Fault {
  return { rule: "field-value", path, message: `\`${path}\` must be ${expected}, not ${describeValue(value)}` };
}

export function tooDeep(path: string): Fault {
  return { rule: "field-depth", path, message: `\`${path}\` nests too deeply` };
}

/** Puts the fault of an inner value into its place in the outer one. */
export function within(outer: string, fault: Fault): Fault {
  return { rule: fault.rule, ...move(outer, fault) };
}

/** The same for the hints an inner value gave, from `start` on. */
export function moveHints(hints: Hint[], start: number, outer: string): void {
  for (const [index, hint] of hints.entries()) if (index >= start) hints[index] = move(outer, hint);
}

function move(outer: string, { path, message }: Hint): Hint {
  const moved = path === "" ? outer : path.startsWith("[") ? outer + path : `${outer}.${path}`;
  return { path: moved, message: message.replace(`\`${path}\``, `\`${moved}\``) };
}

export function unlisted(path: string, value: string, values: readonly string[]): Hint {
  return { path, message: `\`${path}\` is ${describeValue(value)}, which is none of ${values.join(", ")}` };
}

/** Short enough for a message, whatever the value. */
export function describeValue(value: unknown): string {
  if (value === null) return "null";
  if (Array.isArray(value)) return "an array";
  switch (typeof value) {
    case "string":
      return value.length > 40 ? `${JSON.stringify(value.slice(0, 40))}…` : JSON.stringify(value);
    case "number":
    case "boolean":
      return String(value);
    case "undefined":
      return "missing";
    default:
      return "an object";
  }
}
