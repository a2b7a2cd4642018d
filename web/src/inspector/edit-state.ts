/** Reads the state that a user edited before a fork. It finds the channels that changed; only these are sent. */
import type { Json, JsonObject } from "loom-agent/protocol";

export type EditedState =
  | { readonly isValid: true; /** Undefined if nothing changed. */ readonly changed: JsonObject | undefined }
  | { readonly isValid: false; readonly reason: "json" | "object" | "removed"; readonly detail: string };

export function readEditedState(before: Json, text: string): EditedState {
  let after: unknown;
  try {
    after = JSON.parse(text);
  } catch (error) {
    return { isValid: false, reason: "json", detail: error instanceof Error ? error.message : "" };
  }
  if (!isObject(after)) return { isValid: false, reason: "object", detail: "" };
  const known = isObject(before) ? before : {};
  const removed = Object.keys(known).find((channel) => !Object.hasOwn(after as object, channel));
  if (removed !== undefined) return { isValid: false, reason: "removed", detail: removed };
  const changed = Object.entries(after).filter(
    ([channel, value]) => !Object.hasOwn(known, channel) || JSON.stringify(known[channel]) !== JSON.stringify(value),
  );
  return { isValid: true, changed: changed.length === 0 ? undefined : Object.fromEntries(changed) };
}

function isObject(value: unknown): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
