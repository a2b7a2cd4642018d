/** Where a text stops being JSON, in the same words whatever engine reads it. */
import { PartialJson } from "../../client/partial-json.ts";
import { isJsonObject, type JsonObject } from "../../protocol/index.ts";

export type JsonReading =
  | { readonly kind: "object"; readonly value: JsonObject }
  | { readonly kind: "empty" | "unfinished" | "no-object" }
  /** From 1. */
  | { readonly kind: "invalid"; readonly line: number; readonly column: number };

/** Characters that are looked at one by one to find a fault. */
const STEP = 256;

export function readJsonObject(text: string): JsonReading {
  if (text.trim() === "") return { kind: "empty" };
  try {
    const value: unknown = JSON.parse(text);
    return isJsonObject(value) ? { kind: "object", value } : { kind: "no-object" };
  } catch {
    const at = findFault(text);
    if (at === undefined) return { kind: "unfinished" };
    const before = text.slice(0, at);
    return { kind: "invalid", line: before.split("\n").length, column: at - before.lastIndexOf("\n") };
  }
}

/** The first character that no JSON text can have there; undefined where the text only ends too early. */
function findFault(text: string): number | undefined {
  // In steps up to the one that holds it: whole pieces are read faster than characters.
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
