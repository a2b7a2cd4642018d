/**
 * The code that handles one event type of the `loom` wire: it reads an event from a flat frame.
 */
import { readForm } from "./check-form.ts";
import { findLoomEventForm, LOOM_EVENT_FORMS, LOOM_EVENT_READERS } from "./events.generated.ts";
import type { Form } from "./form.ts";

type Value = { readonly [field: string]: unknown };

export interface LoomEventCode {
  /** The event in a flat frame that has `fields` fields beside its type and its envelope, if all is in order. */
  read(value: Value, fields: number): object | undefined;
}

let codes: ReadonlyMap<string, LoomEventCode> | undefined;

export function findLoomEventCode(type: string): LoomEventCode | undefined {
  // Keyed by the names in our own code, which are found faster than names that came in a frame.
  codes ??= new Map(Object.keys(LOOM_EVENT_FORMS).map((name) => [name, createCode(name)]));
  return codes.get(type);
}

function createCode(type: string): LoomEventCode {
  const form = findLoomEventForm(type) as Form;
  return { read: LOOM_EVENT_READERS[type] ?? ((value, fields) => readForm(type, form, value, fields)) };
}
