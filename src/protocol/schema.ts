/**
 * The small language in which the vocabulary is declared. A declaration is plain data: the generator turns it into
 * TypeScript types, forms, JSON Schema and documentation. It knows no event and imports no schema library, so that
 * the same code runs in a page under a strict Content-Security-Policy.
 *
 * Invariant: an optional field may be absent or null on a wire; both mean "not given".
 */

/** A sentence in the two languages of the documentation. */
export interface Text {
  readonly en: string;
  readonly zh: string;
}

export type Schema =
  | { readonly kind: "string" }
  | { readonly kind: "number"; readonly min?: number; readonly max?: number }
  | { readonly kind: "integer"; readonly min?: number; readonly max?: number }
  | { readonly kind: "boolean" }
  /** Any JSON value, null included. */
  | { readonly kind: "json" }
  /** Any JSON object. */
  | { readonly kind: "map" }
  /** A closed set of texts: another value is a fault. */
  | { readonly kind: "enum"; readonly values: readonly string[] }
  /** An open set of texts: another value is kept and only remarked upon. */
  | { readonly kind: "open-enum"; readonly values: readonly string[] }
  | { readonly kind: "array"; readonly items: Schema }
  | { readonly kind: "object"; readonly fields: Fields }
  | { readonly kind: "union"; readonly options: readonly Schema[] }
  /** A field that must be present, and whose value may be null. */
  | { readonly kind: "nullable"; readonly of: Schema };

export interface Field {
  readonly schema: Schema;
  readonly required: boolean;
  /** True for a field the specification does not name (001 §8 allows such fields). */
  readonly additional: boolean;
  readonly about: Text;
}

export interface Fields {
  readonly [name: string]: Field;
}

/** Something that travels as one JSON object with a fixed tag: an event of ours, or a frame of a dialect. */
export interface Shape {
  readonly about: Text;
  readonly section: string;
  readonly fields: Fields;
}

export const string: Schema = { kind: "string" };
export const number: Schema = { kind: "number" };
export const boolean: Schema = { kind: "boolean" };
export const json: Schema = { kind: "json" };
export const map: Schema = { kind: "map" };
/** A whole number from 0 to 2^53-1: an id, a count, a step. */
export const count: Schema = { kind: "integer", min: 0, max: Number.MAX_SAFE_INTEGER };
/** A length of time in milliseconds. */
export const duration: Schema = { kind: "number", min: 0 };

export function between(min: number, max: number): Schema {
  return { kind: "number", min, max };
}

export function oneOf(...values: string[]): Schema {
  return { kind: "enum", values };
}

export function openSet(...values: string[]): Schema {
  return { kind: "open-enum", values };
}

export function listOf(items: Schema): Schema {
  return { kind: "array", items };
}

export function objectOf(fields: Fields): Schema {
  return { kind: "object", fields };
}

export function either(...options: Schema[]): Schema {
  return { kind: "union", options };
}

export function nullable(of: Schema): Schema {
  return { kind: "nullable", of };
}

/** A field every frame of the type carries. */
export function required(schema: Schema, en: string, zh: string): Field {
  return { schema, required: true, additional: false, about: { en, zh } };
}

/** A field the specification names and lets senders leave out. */
export function optional(schema: Schema, en: string, zh: string): Field {
  return { schema, required: false, additional: false, about: { en, zh } };
}

/** An optional field of ours on a type of the specification. */
export function additional(schema: Schema, en: string, zh: string): Field {
  return { schema, required: false, additional: true, about: { en, zh } };
}
