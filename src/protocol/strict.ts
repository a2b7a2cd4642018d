/**
 * The strict form, for receivers that know only the 23 event types of 001. Every other type travels as `custom` with
 * `value: {"$loom": type, …payload}`. An application value that has a `$loom` key is wrapped the same way, so it is
 * never mistaken for an event.
 */
import { type CustomEvent, ENVELOPE_FORM, findLoomEventForm } from "./events.generated.ts";
import { isJsonObject, type JsonObject, keepFields } from "./json.ts";
import { type AnyEvent, isSpecified } from "./record.ts";

const LOOM_KEY = "$loom";

/** True if a receiver that knows only 001 can read the event without wrapping. */
export function fitsStrictForm(event: AnyEvent): boolean {
  if (event.type === "custom") return !hasLoomKey((event as CustomEvent).value);
  return event.type === "reply" || isSpecified(event.type);
}

/** Returns the value of the `custom` frame that carries `event`. */
export function wrapEvent(event: AnyEvent): JsonObject {
  const { type, ...payload } = event as JsonObject & { readonly type: string };
  return { [LOOM_KEY]: type, ...payload };
}

/** Returns the event wrapped in a `custom` value, or undefined if the value belongs to the application. */
export function unwrapEvent(value: unknown): AnyEvent | undefined {
  if (!hasLoomKey(value)) return undefined;
  const type = value[LOOM_KEY];
  if (typeof type !== "string") return undefined;
  return dropEnvelopeNames({ type, ...keepFields(value, (name) => name !== LOOM_KEY && name !== "type") });
}

/**
 * Removes fields that have the name of an envelope field and are not declared by the event's type. In a flat frame they
 * would overwrite the envelope.
 */
export function dropEnvelopeNames(event: AnyEvent): AnyEvent {
  const declared = findLoomEventForm(event.type)?.fields;
  const spoofed = (name: string) => ENVELOPE_FORM.fields.has(name) && declared?.has(name) !== true;
  if (!Object.keys(event).some(spoofed)) return event;
  return keepFields(event as JsonObject, (name) => !spoofed(name)) as AnyEvent;
}

/** Like `unwrapEvent`, for the `loom` dialect: there the 23 types of 001 are never wrapped, except `custom` itself. */
export function unwrapCustomValue(value: unknown): AnyEvent | undefined {
  const event = unwrapEvent(value);
  if (event === undefined || event.type === "reply") return undefined;
  return event.type === "custom" || !isSpecified(event.type) ? event : undefined;
}

/** True if the value has a `$loom` key. */
export function hasLoomKey(value: unknown): value is JsonObject {
  return isJsonObject(value) && Object.hasOwn(value, LOOM_KEY);
}
