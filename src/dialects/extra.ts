/**
 * Keeps fields of a foreign frame that the event has no field for. They are stored in `envelope.ext`, keyed by dialect,
 * and restored when the record is encoded in that dialect again.
 */
import type { Envelope } from "../protocol/events.generated.ts";
import type { FormFields, FormSchema } from "../protocol/form.ts";
import { isJsonObject, type Json, type JsonObject } from "../protocol/json.ts";

/**
 * Returns the parts of `value` that `fields` do not declare, also in nested objects, but not in lists; undefined if there
 * are none. `tagField` has the type of the frame.
 */
export function collectExtra(value: JsonObject, fields: FormFields, tagField?: string): JsonObject | undefined {
  let extra: [string, Json][] | undefined;
  for (const [name, inner] of Object.entries(value)) {
    if (name === tagField) continue;
    const schema = fields.get(name)?.schema;
    let kept: Json | undefined;
    if (schema === undefined) kept = inner;
    else if (isObjectSchema(schema) && isJsonObject(inner)) kept = collectExtra(inner, schema.fields);
    if (kept !== undefined) (extra ??= []).push([name, kept]);
  }
  return extra === undefined ? undefined : Object.fromEntries(extra);
}

function isObjectSchema({ tag }: FormSchema): boolean {
  return tag === "{";
}

/** Merges `extra` into `target`. Existing values are kept; objects are merged. */
export function mergeExtra(target: JsonObject, extra: JsonObject | undefined): JsonObject {
  if (extra === undefined) return target;
  const merged: [string, Json][] = Object.entries(target).map(([name, value]) => {
    const more = Object.hasOwn(extra, name) ? extra[name] : undefined;
    return [name, isJsonObject(value) && isJsonObject(more) ? mergeExtra(value, more) : value];
  });
  for (const entry of Object.entries(extra)) if (!Object.hasOwn(target, entry[0])) merged.push(entry);
  return Object.fromEntries(merged);
}

/** Returns the extra fields of a dialect. */
export function extraOf(envelope: Envelope, dialect: string): JsonObject | undefined {
  const extra = envelope.ext?.[dialect];
  return isJsonObject(extra) ? extra : undefined;
}

/** Returns the envelope with extra fields of a dialect, if there are any. */
export function withExtra(envelope: Envelope, dialect: string, extra: JsonObject | undefined): Envelope {
  if (extra === undefined || Object.keys(extra).length === 0) return envelope;
  return { ...envelope, ext: { [dialect]: extra } };
}
