/**
 * Converts any value that a tool returns to JSON. It never throws and always terminates: cycles are marked, and depth
 * and size are limited.
 */
import type { Json } from "../protocol/index.ts";

export interface JsonConversion {
  readonly value: Json;
  /** True if a part was left out because of a limit. */
  readonly isCut: boolean;
}

/** Depth limit. With the event around it, the value stays within the limit of the protocol. */
const MAX_DEPTH = 200;
const MAX_VALUES = 100_000;
/** Characters of one string. No event could hold more. */
const MAX_TEXT = 1024 * 1024;

/**
 * Converts a value to JSON. Values without a JSON form, such as undefined and functions, become null, and are omitted
 * from objects.
 */
export function toJson(value: unknown): JsonConversion {
  const parents = new Set<object>();
  let left = MAX_VALUES;
  let isCut = false;

  const convert = (inner: unknown, depth: number): Json | undefined => {
    if (--left < 0) {
      isCut = true;
      return undefined;
    }
    switch (typeof inner) {
      case "string":
        if (inner.length > MAX_TEXT) isCut = true;
        return inner.slice(0, MAX_TEXT).toWellFormed();
      case "number":
        return Number.isFinite(inner) ? inner : null;
      case "boolean":
        return inner;
      case "bigint":
        // As a number if that is exact, otherwise as a string of digits.
        return BigInt(Number(inner)) === inner && Number.isSafeInteger(Number(inner)) ? Number(inner) : String(inner);
      case "object":
        return inner === null ? null : convertObject(inner, depth);
      default:
        return undefined;
    }
  };

  const convertObject = (inner: object, depth: number): Json | undefined => {
    if (parents.has(inner)) return "[circular]";
    if (depth >= MAX_DEPTH) {
      isCut = true;
      return "[nested too deeply]";
    }
    parents.add(inner);
    try {
      return convertMembers(inner, depth);
    } catch {
      // A getter or a proxy threw an error.
      return "[unreadable]";
    } finally {
      parents.delete(inner);
    }
  };

  const convertMembers = (inner: object, depth: number): Json | undefined => {
    const { toJSON } = inner as { toJSON?: () => unknown };
    if (typeof toJSON === "function") return convert(toJSON.call(inner), depth + 1);
    if (inner instanceof Error) return { name: inner.name, message: inner.message.slice(0, MAX_TEXT) };
    if (ArrayBuffer.isView(inner) || inner instanceof ArrayBuffer) return `[${inner.byteLength} bytes]`;
    if (inner instanceof Map) return convertEntries(inner, depth);
    if (Array.isArray(inner) || inner instanceof Set) return convertItems(inner as Iterable<unknown>, depth);
    return convertEntries(Object.entries(inner), depth);
  };

  const convertItems = (items: Iterable<unknown>, depth: number): Json => {
    const list: Json[] = [];
    for (const item of items) {
      const made = convert(item, depth + 1);
      if (left < 0) break;
      list.push(made ?? null);
    }
    return list;
  };

  const convertEntries = (entries: Iterable<readonly [unknown, unknown]>, depth: number): Json => {
    const made: [string, Json][] = [];
    for (const [key, item] of entries) {
      const one = convert(item, depth + 1);
      if (left < 0) break;
      if (one !== undefined) made.push([String(key).slice(0, MAX_TEXT), one]);
    }
    // Assignment would fail for the key `__proto__`.
    return Object.fromEntries(made);
  };

  return { value: convert(value, 0) ?? null, isCut };
}
