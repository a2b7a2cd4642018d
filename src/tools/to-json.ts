/**
 * Any value as JSON, as well as it can be said: what a tool returns is the tool's, and may be anything. It never throws
 * and always ends, whatever the value: cycles are named, and the size is bounded.
 */
import type { Json } from "../protocol/index.ts";

export interface MadeJson {
  readonly value: Json;
  /** Something was left out because there is too much of it. */
  readonly isCut: boolean;
}

/** How deep it may nest: with its event around it, still within what the protocol allows. */
const MAX_DEPTH = 200;
const MAX_VALUES = 100_000;
/** Characters of one text: no event could hold more. */
const MAX_TEXT = 1024 * 1024;

/** Undefined, functions and symbols have no form: they are null by themselves, and absent from an object. */
export function toJson(value: unknown): MadeJson {
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
        // A number where that is exact, its digits otherwise.
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
      return "[too deep]";
    }
    parents.add(inner);
    try {
      return convertMembers(inner, depth);
    } catch {
      // A getter or a proxy of its own mind.
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
    // Not by assignment: a key may be `__proto__`.
    return Object.fromEntries(made);
  };

  return { value: convert(value, 0) ?? null, isCut };
}
