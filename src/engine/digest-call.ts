/**
 * Computes the digest of a tool call: a hash of its tool name and arguments. Calls that are equal as JSON have the same
 * digest; key order, number notation and `-0` make no difference.
 */
import { createHash } from "node:crypto";
import type { Json, JsonObject } from "../protocol/index.ts";

/** Returns the SHA-256 as base64url. */
export function digestCall(name: string | undefined, input: JsonObject | undefined): string {
  return createHash("sha256")
    .update(writeCanonical([name ?? null, input ?? null]))
    .digest("base64url");
}

/**
 * Writes JSON with keys sorted by UTF-16 code units. Lone surrogates stay distinct because JSON escapes each of them.
 */
function writeCanonical(value: Json | undefined): string {
  if (typeof value !== "object" || value === null) return JSON.stringify(value ?? null);
  if (Array.isArray(value)) return `[${value.map(writeCanonical).join(",")}]`;
  const fields = value as JsonObject;
  // `JSON.stringify` omits undefined fields too.
  const names = Object.keys(fields).filter((name) => fields[name] !== undefined);
  return `{${names
    .toSorted(compareUnits)
    .map((name) => `${JSON.stringify(name)}:${writeCanonical(fields[name])}`)
    .join(",")}}`;
}

function compareUnits(one: string, other: string): number {
  return one < other ? -1 : one > other ? 1 : 0;
}
