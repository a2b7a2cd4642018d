/**
 * The strict form: a type that is none of the 23 of 001 travels as `custom` with `value: {"$loom": type, …payload}`, so
 * that receivers which know only those carry it untouched. A user's own value that holds a `$loom` key is wrapped the
 * same way, so that it is never mistaken for one of ours.
 */
import { type CustomEvent, ENVELOPE_FORM, findLoomEventForm } from "./events.generated.ts";
import { isJsonObject, type JsonObject, keepFields } from "./json.ts";
import { type AnyEvent, isSpecified } from "./record.ts";

const MARK = "$loom";

/** True when the event may travel as it is among receivers that know only 001. */
export function isPlain(event: AnyEvent): boolean {
  if (event.type === "custom") return !holdsMark((event as CustomEvent).value);
  return event.type === "reply" || isSpecified(event.type);
}

/** The value of the `custom` frame that carries `event`. */
export function wrapEvent(event: AnyEvent): JsonObject {
  const { type, ...payload } = event as JsonObject & { readonly type: string };
  return { [MARK]: type, ...payload };
}

/** The event inside a wrapping, or undefined when the value is the user's own. */
export function unwrapEvent(value: unknown): AnyEvent | undefined {
  if (!holdsMark(value)) return undefined;
  const type = value[MARK];
  if (typeof type !== "string") return undefined;
  return dropEnvelopeNames({ type, ...keepFields(value, (name) => name !== MARK && name !== "type") });
}

/**
 * The event without fields that are named like the envelope's and that its type does not declare. On the flat wire such
 * a field would stand twice, and the wrong one would be believed.
 */
export function dropEnvelopeNames(event: AnyEvent): AnyEvent {
  const declared = findLoomEventForm(event.type)?.fields;
  const spoofed = (name: string) => ENVELOPE_FORM.fields.has(name) && declared?.has(name) !== true;
  if (!Object.keys(event).some(spoofed)) return event;
  return keepFields(event as JsonObject, (name) => !spoofed(name)) as AnyEvent;
}

/** The same for a `custom` value of the `loom` wire, where the 23 types travel plainly and are never wrapped. */
export function unwrapValue(value: unknown): AnyEvent | undefined {
  const event = unwrapEvent(value);
  const type = event?.type ?? "reply";
  return type === "custom" || (type !== "reply" && !isSpecified(type)) ? event : undefined;
}

export function holdsMark(value: unknown): value is JsonObject {
  return isJsonObject(value) && Object.hasOwn(value, MARK);
}
