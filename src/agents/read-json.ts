/**
 * Finds the JSON a model was asked for in what it said: the last whole object in the text, wherever it stands, in a fence
 * or in a sentence. It judges nothing: whether the object is of the form asked for is for others to say.
 */
import { isJsonObject, type JsonObject } from "../protocol/index.ts";

/** Characters from the end that are looked at: whoever says more has not answered. */
const MAX_CHARACTERS = 400_000;
/** Objects that are tried, and characters of all that are tried from a brace on. */
const MAX_TRIES = 100;
const MAX_PARSED = 500_000;

export function readLastObject(text: string): JsonObject | undefined {
  const read = text.slice(-MAX_CHARACTERS);
  const spans = listObjects(read);
  for (const [from, to] of spans.toReversed().slice(0, MAX_TRIES)) {
    const found = parse(read.slice(from, to));
    if (found !== undefined) return found;
  }
  return readBehindOpenBrace(read);
}

/** A brace of prose that nobody closed hides all that is behind it. The first that begins an object is the outermost. */
function readBehindOpenBrace(text: string): JsonObject | undefined {
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

/** Where braces open and close again, outermost only, in one pass. Braces in strings of JSON do not count. */
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
      // A string of JSON has no line break: this was a quotation mark in prose.
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
