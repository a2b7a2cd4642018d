/**
 * Checks whether a value survives a round trip through JSON and UTF-8. Dates, class instances, holes in arrays and
 * unpaired surrogates do not.
 */
import { MAX_JSON_DEPTH } from "../protocol/json.ts";

/** True if JSON in UTF-8 writes the value unchanged. False if it is nested deeper than `depth`. */
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
