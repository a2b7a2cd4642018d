/**
 * Finds JSON in the text of a model: the last complete object, also inside a code fence or a sentence. Callers check
 * whether the object has the expected fields.
 */
import { isJsonObject, type JsonObject } from "../protocol/index.ts";

/** Only this many characters from the end are searched. */
const MAX_CHARACTERS = 400_000;
/** Maximum objects to parse, and maximum characters to parse after an unclosed brace. */
const MAX_TRIES = 100;
const MAX_PARSED = 500_000;

/** Returns the last JSON object in the text, or undefined. */
export function readLastObject(text: string): JsonObject | undefined {
  const read = text.slice(-MAX_CHARACTERS);
  const spans = listObjects(read);
  for (const [from, to] of spans.toReversed().slice(0, MAX_TRIES)) {
    const found = parse(read.slice(from, to));
    if (found !== undefined) return found;
  }
  return readAfterOpenBrace(read);
}

/**
 * Handles prose with an unclosed brace, which hides everything after it. The first brace that begins an object is the
 * outermost.
 */
function readAfterOpenBrace(text: string): JsonObject | undefined {
  const end = text.lastIndexOf("}") + 1;
  let from = -1;
  for (let parsed = 0; parsed < MAX_PARSED; parsed += end - from) {
    from = text.indexOf("{", from + 1);
    if (from < 0 || from >= end) return undefined;
    const found = parse(text.slice(from, end));
    if (found !== undefined) return found;
  }
  return undefined;
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

function parse(text: string): JsonObject | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return isJsonObject(value) ? value : undefined;
  } catch {
    return undefined;
  }
}
