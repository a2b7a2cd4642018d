/** Reads entries and summaries of JSON values without walking the whole value. */
import type { Json, JsonObject } from "../../protocol/index.ts";
import { revealHidden } from "./reveal-hidden.ts";
import { cutText, shorten } from "../../protocol/cut-text.ts";

export type JsonContainer = JsonObject | readonly Json[];

export function isContainer(value: Json): value is JsonContainer {
  return typeof value === "object" && value !== null;
}

export function isEmpty(value: JsonObject): boolean {
  for (const name in value) if (Object.hasOwn(value, name)) return false;
  return true;
}

/** Returns the keys of an object, or the indexes of an array. */
export function listNames(value: JsonContainer): readonly string[] {
  return Object.keys(value);
}

export function readEntry(value: JsonContainer, name: string): Json {
  return (value as { readonly [name: string]: Json })[name] ?? null;
}

const MAX_GIST_ENTRIES = 6;
const MAX_GIST = 120;

/** Summarizes a value in one short line. Nested containers are elided. */
export function gistValue(value: Json): string {
  if (!isContainer(value)) return revealHidden(gistLeaf(value));
  const isList = Array.isArray(value);
  const names = listNames(isList ? (value.slice(0, MAX_GIST_ENTRIES + 1) as readonly Json[]) : value);
  const entries = names.slice(0, MAX_GIST_ENTRIES).map((name) => {
    const entry = readEntry(value, name);
    const text = isContainer(entry) ? (Array.isArray(entry) ? "[…]" : "{…}") : gistLeaf(entry);
    return isList ? text : `${cutText(name, MAX_GIST)}: ${text}`;
  });
  if (names.length > MAX_GIST_ENTRIES) entries.push("…");
  const line = entries.join(", ");
  return revealHidden(shorten(line, MAX_GIST));
}

/** Line breaks are replaced by spaces. */
function gistLeaf(value: string | number | boolean | null): string {
  if (typeof value !== "string") return String(value);
  const cut = cutText(value, MAX_GIST);
  const text = cut.replaceAll(/\s+/g, " ");
  return cut.length < value.length ? `${text}…` : text;
}

/** Parses a text that is a JSON object or array and not longer than `maxLength`. */
export function readJsonText(text: string, maxLength: number): JsonContainer | undefined {
  if (text.length > maxLength || !/^\s*[[{]/.test(text)) return undefined;
  try {
    const value = JSON.parse(text) as Json;
    return isContainer(value) ? value : undefined;
  } catch {
    return undefined;
  }
}
