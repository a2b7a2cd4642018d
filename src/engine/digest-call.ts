/**
 * What a call is recognised by: its tool and its arguments, however they are written. Two calls have one digest where
 * JSON has no way to tell them apart: the order of keys, the form of a number and `-0` do not count.
 */
import { createHash } from "node:crypto";
import type { Json, JsonObject } from "../protocol/index.ts";

/** SHA-256, as base64url. */
export function digestCall(name: string | undefined, input: JsonObject | undefined): string {
  return createHash("sha256")
    .update(writeCanonical([name ?? null, input ?? null]))
    .digest("base64url");
}

/** As JSON, keys in order of their UTF-16 units. Half characters stay apart: JSON writes each as its own escape. */
function writeCanonical(value: Json | undefined): string {
  if (typeof value !== "object" || value === null) return JSON.stringify(value ?? null);
  if (Array.isArray(value)) return `[${value.map(writeCanonical).join(",")}]`;
  const fields = value as JsonObject;
  // As JSON does: what is undefined is not there.
  const names = Object.keys(fields).filter((name) => fields[name] !== undefined);
  return `{${names
    .toSorted(compareUnits)
    .map((name) => `${JSON.stringify(name)}:${writeCanonical(fields[name])}`)
    .join(",")}}`;
}

function compareUnits(one: string, other: string): number {
  return one < other ? -1 : one > other ? 1 : 0;
}
