/** Validates events before they are sent and after they are received. */
import { findLoomEventFault } from "./events.generated.ts";
import type { Fault, Hint } from "./fault.ts";
import { isJsonObject } from "./json.ts";
import type { AnyEvent } from "./record.ts";

/** The event, or the first fault. */
export type Validated = { readonly ok: true; readonly event: AnyEvent } | { readonly ok: false; readonly fault: Fault };

/**
 * Returns the first fault in an event, or undefined if it is valid. Unknown fields and unknown types are allowed.
 * Values outside an open set are added to `hints`.
 */
export function findEventFault(value: unknown, hints?: Hint[]): Fault | undefined {
  if (!isJsonObject(value)) return { rule: "field-type", path: "", message: "an event must be a JSON object" };
  if (typeof value["type"] !== "string") {
    return { rule: "field-missing", path: "type", message: "`type` is missing; it must be a string" };
  }
  return findLoomEventFault(value, hints);
}

/**
 * Validates an event. Returns the event, or what is wrong with it and where; does not throw. Allows unknown fields and
 * types.
 *
 * ```ts
 * const { ok } = validateEvent({ type: "tool_end", name: "ls", result: "done" }); // false: is_error is missing
 * ```
 */
export function validateEvent(value: unknown): Validated {
  const fault = findEventFault(value);
  return fault === undefined ? { ok: true, event: value as AnyEvent } : { ok: false, fault };
}
