/**
 * Finds JSON in the text of a model, also inside a code fence or a sentence. JSON with faults that models make is
 * repaired: single quotes, keys without quotes, trailing commas, comments, `True`. Callers check the fields.
 *
 * Invariant: JSON that was cut off is never completed, because its last value may be wrong.
 */
import { jsonrepair } from "jsonrepair";
import type { Json, JsonObject } from "../protocol/index.ts";
import { isJsonObject } from "../protocol/json.ts";

/** Only this many characters from the end are searched. */
const MAX_CHARACTERS = 400_000;
/** Maximum values to parse, and maximum characters to parse after an unclosed brace. */
const MAX_TRIES = 100;
const MAX_PARSED = 500_000;
/** Maximum characters to repair. The time for hostile text grows with their square: about 0.1 s for this many. */
export const MAX_REPAIRED = 10_000;

/** Lists the JSON objects and arrays of a text: the whole text or a code fence first, then the last one first. */
export function* listJson(text: string): Generator<JsonObject | readonly Json[]> {
  const read = text.slice(-MAX_CHARACTERS).replace(/^\uFEFF/, "");
  const repair = { left: MAX_REPAIRED };
  for (const part of [read, ...listFences(read).toReversed().slice(0, MAX_TRIES)]) {
    const value = isBracketed(part.trim()) ? parse(part, repair) : undefined;
    if (value !== undefined) yield value;
  }
  for (const [from, to] of listObjects(read).toReversed().slice(0, MAX_TRIES)) {
    const value = parse(read.slice(from, to), repair);
    if (value !== undefined) yield value;
  }
  for (const [open, close] of [
    ["[", "]"],
    ["{", "}"],
  ] as const) {
    const value = readAfterOpen(read, open, close, repair);
    if (value !== undefined) yield value;
  }
}

/** Returns the field with one of these names, ignoring case, spaces and punctuation in its key. */
export function findField(object: JsonObject, ...names: readonly string[]): Json | undefined {
  let keys: readonly string[] | undefined;
  let simple: readonly string[] = [];
  for (const name of names) {
    if (Object.hasOwn(object, name)) return object[name];
    if (keys === undefined) {
      keys = Object.keys(object);
      simple = keys.map(simplify);
    }
    const key = keys[simple.indexOf(name)];
    if (key !== undefined) return object[key];
  }
  return undefined;
}

/** Lists objects that may have the expected fields: those found, and those that are alone inside them. */
export function* listObjectsIn(text: string): Generator<JsonObject> {
  for (const value of listJson(text)) {
    let inner: Json | undefined = value;
    for (let depth = 0; depth < 3 && inner !== undefined; depth++) {
      if (isJsonObject(inner)) yield inner;
      const inside: readonly Json[] = Array.isArray(inner) ? inner : isJsonObject(inner) ? Object.values(inner) : [];
      const objects: readonly Json[] = inside.filter((one) => isJsonObject(one) || Array.isArray(one));
      inner = objects.length === 1 ? objects[0] : undefined;
    }
  }
}

/** Removes the marks of code fences. */
export function removeFences(text: string): string {
  return text.replaceAll(/^[ \t\uFEFF]*(?:```|~~~)[^\n]*$/gm, "");
}

/** True if the text ends inside JSON, so that its last value may be incomplete. */
export function isCutOff(text: string): boolean {
  return text.lastIndexOf("{") > text.lastIndexOf("}");
}

function isBracketed(text: string): boolean {
  return (text.startsWith("{") && text.endsWith("}")) || (text.startsWith("[") && text.endsWith("]"));
}

function simplify(key: string): string {
  return key.toLowerCase().replaceAll(/[^\p{L}\p{N}]/gu, "");
}

/** Contents of code fences. */
function listFences(text: string): readonly string[] {
  return text
    .split(/^[ \t\uFEFF]*(?:```|~~~)[^\n]*$/m)
    .filter((_, index) => index % 2 === 1)
    .map((block) => block.trim());
}

/**
 * Handles prose with an unclosed brace, which hides everything after it. The first brace that begins a value is the
 * outermost. Prose is not repaired unless nothing else is left.
 */
function readAfterOpen(text: string, open: string, close: string, repair: { left: number }) {
  const end = text.lastIndexOf(close) + 1;
  let from = -1;
  for (let parsed = 0; parsed < MAX_PARSED; parsed += end - from) {
    from = text.indexOf(open, from + 1);
    if (from < 0 || from >= end) break;
    const found = parse(text.slice(from, end), { left: 0 });
    if (found !== undefined) return found;
  }
  const first = text.indexOf(open);
  return first < 0 || first >= end ? undefined : parse(text.slice(first, end), repair);
}

/** Finds the outermost pairs of braces in one pass. Braces in JSON strings are ignored. */
function listObjects(text: string): readonly (readonly [from: number, to: number])[] {
  const found: (readonly [number, number])[] = [];
  let depth = 0;
  let start = 0;
  let isString = false;
  for (let at = 0; at < text.length; at++) {
    const sign = text[at];
    if (isString) {
      if (sign === "\\") at++;
      else if (sign === '"') isString = false;
      // JSON strings have no line breaks, so this was a quotation mark in prose.
      else if (sign === "\n") isString = false;
      continue;
    }
    if (sign === "{") {
      if (depth === 0) start = at;
      depth++;
    } else if (sign === "}" && depth > 0) {
      depth--;
      if (depth === 0) found.push([start, at + 1]);
    } else if (sign === '"' && depth > 0) isString = true;
  }
  return found;
}

function parse(text: string, repair: { left: number }): JsonObject | readonly Json[] | undefined {
  try {
    return accept(JSON.parse(text));
  } catch {
    if (text.length > repair.left) return undefined;
    repair.left -= text.length;
  }
  // The library reads the other kinds of comments.
  const plain = text.replaceAll(/^[ \t]*#[^\n]*$/gm, "");
  for (const faulty of new Set([plain, respell(plain)])) {
    try {
      return accept(JSON.parse(jsonrepair(faulty)));
    } catch {
      // Not JSON in this spelling.
    }
  }
  return undefined;
}

function accept(value: unknown): JsonObject | readonly Json[] | undefined {
  if (Array.isArray(value)) return value as readonly Json[];
  return isJsonObject(value) ? value : undefined;
}

/** Spells numbers such as `7/10` and `+1` as JSON, and Chinese punctuation as ASCII. */
function respell(text: string): string {
  return text
    .replaceAll("：", ":")
    .replaceAll("，", ",")
    .replaceAll(
      /:\s{0,9}(\d{1,9}(?:\.\d{1,9})?\s{0,9}(?:(?:\/|out of)\s{0,9}\d{1,9}(?:\s{0,3}(?:stars?|points?))?|stars?|points?|percent))/g,
      ': "$1"',
    )
    .replaceAll(/:\s{0,9}\+(?=[\d.])/g, ": ");
}
