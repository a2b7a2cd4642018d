/** JSON types and helpers. Everything sent or received is one of these values. */

/** Any JSON value. */
export type Json = string | number | boolean | null | readonly Json[] | JsonObject;

/** A JSON object. */
export interface JsonObject {
  readonly [key: string]: Json;
}

/** True for an object that is neither null nor an array. */
export function isJsonObject(value: unknown): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** Returns the parsed value, or undefined if the text is not JSON. */
export function parseJson(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return undefined;
  }
}

/** Returns the parsed object, or undefined if the text is not a JSON object. */
export function parseObject(text: string): JsonObject | undefined {
  const value = parseJson(text);
  return isJsonObject(value) ? value : undefined;
}

/** Returns the value if it is an object, otherwise an empty object. */
export function toJsonObject(value: unknown): JsonObject {
  return isJsonObject(value) ? value : {};
}

/** Returns the items of a list as objects, and no items for any other value. */
export function toJsonObjects(value: unknown): readonly JsonObject[] {
  return Array.isArray(value) ? value.map(toJsonObject) : [];
}

/** Returns a deep copy, as JSON writes and reads it: without undefined fields, and with 0 for -0. */
export function copyJson<T>(value: T): T {
  return JSON.parse(JSON.stringify(value)) as T;
}

/** Like `copyJson`, with U+FFFD for each unpaired surrogate in a name or text. */
export function repairJson<T>(value: T): T {
  return JSON.parse(repairJsonText(JSON.stringify(value))) as T;
}

/** False if a JSON text has no unpaired surrogate; true if it may have one. */
export function mayHaveUnpairedSurrogate(text: string): boolean {
  return /\\u[dD][89a-fA-F]/.test(text) || !text.isWellFormed();
}

/** `JSON.stringify` escapes a surrogate only if it is unpaired. */
export function repairJsonText(text: string): string {
  if (!text.includes("\\ud")) return text;
  // Matches every escape, so that the text `\\ud` of an escaped backslash stays.
  return text.replaceAll(/\\(?:ud[89a-f]..|.)/g, (escape) => (escape.length === 6 ? "\ufffd" : escape));
}

/** True if two values are equal. The order of names in an object makes no difference. */
export function isSameJson(a: Json | undefined, b: Json | undefined): boolean {
  if (Array.isArray(a) && Array.isArray(b))
    return a.length === b.length && a.every((item: Json, index) => isSameJson(item, b[index] as Json));
  if (!isJsonObject(a) || !isJsonObject(b)) return a === b;
  const names = Object.keys(a);
  return (
    names.length === Object.keys(b).length &&
    names.every((name) => Object.hasOwn(b, name) && isSameJson(a[name], b[name]))
  );
}

/** Adds the fields for which `keep` returns true to `kept`, in their order, and returns it. */
export function keepFields<V>(
  value: { readonly [name: string]: V },
  keep: (name: string, value: V) => boolean | undefined,
  kept: { [name: string]: V } = {},
): { readonly [name: string]: V } {
  for (const name of Object.keys(value)) {
    const inner = value[name] as V;
    if (keep(name, inner) === true) setOwn(kept, name, inner);
  }
  return kept;
}

/** Sets an own property. Assigning to `__proto__` would set the prototype instead. */
export function setOwn<V>(object: { [name: string]: V }, name: string, value: V): void {
  if (name === "__proto__")
    Object.defineProperty(object, name, { value, writable: true, enumerable: true, configurable: true });
  else object[name] = value;
}

/** Maximum nesting depth of a free-form value. Deeper values could overflow the stack of JSON.stringify. */
export const MAX_JSON_DEPTH = 256;

/** True if `value` is nested deeper than `limit`. Recurses at most `limit` levels. */
export function isDeeperThan(value: unknown, limit: number = MAX_JSON_DEPTH): boolean {
  if (typeof value !== "object" || value === null) return false;
  if (limit <= 0) return true;
  if (Array.isArray(value)) return value.some((item) => typeof item === "object" && isDeeperThan(item, limit - 1));
  for (const key in value) {
    const inner = (value as { readonly [key: string]: unknown })[key];
    if (typeof inner === "object" && isDeeperThan(inner, limit - 1)) return true;
  }
  return false;
}

/**
 * True if JSON in UTF-8 writes the value unchanged. Dates, class instances, holes in arrays and unpaired surrogates do not
 * survive that. False if the value is nested deeper than `depth`.
 */
export function isPlainJson(value: unknown, depth: number = MAX_JSON_DEPTH): boolean {
  switch (typeof value) {
    case "string":
      return value.isWellFormed();
    case "boolean":
      return true;
    case "number":
      return Number.isFinite(value);
    case "object":
      break;
    default:
      return false;
  }
  if (value === null) return true;
  if (depth <= 0) return false;
  const prototype: unknown = Object.getPrototypeOf(value);
  if (Array.isArray(value)) {
    if (prototype !== Array.prototype || "toJSON" in value) return false;
    for (let index = 0; index < value.length; index++) if (!isPlainJson(value[index], depth - 1)) return false;
    return true;
  }
  if (prototype !== Object.prototype && prototype !== null) return false;
  for (const name in value) {
    if (!name.isWellFormed()) return false;
    if (!isPlainJson((value as { readonly [name: string]: unknown })[name], depth - 1)) return false;
  }
  return true;
}
