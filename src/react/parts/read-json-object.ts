/** Parses a JSON object and locates the first error, independent of the JavaScript engine. */
import { PartialJson } from "../../protocol/partial-json.ts";
import type { JsonObject } from "../../protocol/index.ts";
import { isJsonObject } from "../../protocol/json.ts";

export type JsonParseResult =
  | { readonly kind: "object"; readonly value: JsonObject }
  | { readonly kind: "empty" | "unfinished" | "not-object" }
  /** Line and column count from 1. */
  | { readonly kind: "invalid"; readonly line: number; readonly column: number };

/** Characters per block when searching for an error. */
const STEP = 256;

export function readJsonObject(text: string): JsonParseResult {
  if (text.trim() === "") return { kind: "empty" };
  try {
    const value: unknown = JSON.parse(text);
    return isJsonObject(value) ? { kind: "object", value } : { kind: "not-object" };
  } catch {
    const at = findErrorPosition(text);
    if (at === undefined) return { kind: "unfinished" };
    const before = text.slice(0, at);
    return { kind: "invalid", line: before.split("\n").length, column: at - before.lastIndexOf("\n") };
  }
}

/** Returns the offset of the first invalid character, or undefined if the text is only incomplete. */
function findErrorPosition(text: string): number | undefined {
  // Find the block first, then the character: blocks parse faster than single characters.
  const whole = new PartialJson();
  let from = 0;
  for (; from < text.length; from += STEP) {
    whole.push(text.slice(from, from + STEP));
    if (whole.state === "invalid") break;
  }
  if (from >= text.length) return undefined;
  const exact = new PartialJson();
  exact.push(text.slice(0, from));
  for (let at = from; at < text.length; at++) {
    exact.push(text.charAt(at));
    if (exact.state === "invalid") return at;
  }
  return undefined;
}
