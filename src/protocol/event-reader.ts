/** Reads events of one type from flat `loom` frames. */
import { type FieldValues, readForm } from "./check-form.ts";
import { findLoomEventForm, LOOM_EVENT_FORMS, LOOM_EVENT_READERS } from "./events.generated.ts";
import type { Form } from "./form.ts";

/** Reads events of one type; see `findLoomEventReader`. */
export interface LoomEventReader {
  /**
   * Returns the event in a flat frame that has `fields` fields besides its type and envelope, or undefined if the frame
   * needs the slow path.
   */
  read(value: FieldValues, fields: number): object | undefined;
}

let codes: ReadonlyMap<string, LoomEventReader> | undefined;

/** Returns the reader of an event type; undefined for an unknown type. */
export function findLoomEventReader(type: string): LoomEventReader | undefined {
  // Keys from our own code are interned, so lookups are faster than with keys that come from parsed frames.
  codes ??= new Map(Object.keys(LOOM_EVENT_FORMS).map((name) => [name, createReader(name)]));
  return codes.get(type);
}

function createReader(type: string): LoomEventReader {
  const form = findLoomEventForm(type) as Form;
  return { read: LOOM_EVENT_READERS[type] ?? ((value, fields) => readForm(type, form, value, fields)) };
}
