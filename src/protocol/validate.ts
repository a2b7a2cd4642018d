/**
 * Checks events on their way in and out. Their forms say what is right; this is the public face.
 */
import { findLoomEventFault } from "./events.generated.ts";
import type { Fault, Hint } from "./fault.ts";
import { isJsonObject } from "./json.ts";
import type { AnyEvent } from "./record.ts";

export type Validated = { readonly ok: true; readonly event: AnyEvent } | { readonly ok: false; readonly fault: Fault };

/**
 * The first thing wrong with an event, or undefined. Unknown fields and unknown types are allowed; values outside an
 * open set are added to `hints`.
 */
export function findEventFault(value: unknown, hints?: Hint[]): Fault | undefined {
  if (!isJsonObject(value)) return { rule: "field-type", path: "", message: "an event must be a JSON object" };
  if (typeof value["type"] !== "string") {
    return { rule: "field-missing", path: "type", message: "`type` is missing; it must be a string" };
  }
  return findLoomEventFault(value, hints);
}

export function validateEvent(value: unknown): Validated {
  const fault = findEventFault(value);
  return fault === undefined ? { ok: true, event: value as AnyEvent } : { ok: false, fault };
}
