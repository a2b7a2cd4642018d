/**
 * The schema language in which events and frames are declared. A declaration is plain data; the generator turns it into
 * TypeScript types, forms, JSON Schema and documentation. It uses no schema library and no eval, so it works in pages
 * with a strict Content-Security-Policy.
 *
 * Invariant: an optional field may be absent or null on the wire; both mean "not given".
 */

/** A text in English and Chinese. */
export interface LocalizedText {
  readonly en: string;
  readonly zh: string;
}

/** The type of a field. */
export type Schema =
  | { readonly kind: "string" }
  | { readonly kind: "number"; readonly min?: number; readonly max?: number }
  | { readonly kind: "integer"; readonly min?: number; readonly max?: number }
  | { readonly kind: "boolean" }
  /** Any JSON value, including null. */
  | { readonly kind: "json" }
  /** Any JSON object. */
  | { readonly kind: "map" }
  /** A closed set of strings; any other value is a fault. */
  | { readonly kind: "enum"; readonly values: readonly string[] }
  /** An open set of strings; any other value is kept and reported as a hint. */
  | { readonly kind: "open-enum"; readonly values: readonly string[] }
  | { readonly kind: "array"; readonly items: Schema }
  | { readonly kind: "object"; readonly fields: Fields }
  | { readonly kind: "union"; readonly options: readonly Schema[] }
  /** A field that must be present but may be null. */
  | { readonly kind: "nullable"; readonly of: Schema };

/** A field of a shape. */
export interface Field {
  readonly schema: Schema;
  readonly required: boolean;
  /** True for a field that the specification does not define. 001 §8 allows such fields. */
  readonly additional: boolean;
  readonly about: string;
  /** `about` in Chinese. Only events, the envelope and their fields have it: `docs/protocol.zh.md` shows them. */
  readonly zh?: string | undefined;
}

/** Fields by name. */
export interface Fields {
  readonly [name: string]: Field;
}

/** A JSON object with a fixed `type`: an event, or a frame of a dialect. */
export interface Shape {
  readonly about: string;
  /** `about` in Chinese, see `Field`. */
  readonly zh?: string;
  readonly section: string;
  readonly fields: Fields;
}

export const string: Schema = { kind: "string" };
export const number: Schema = { kind: "number" };
export const boolean: Schema = { kind: "boolean" };
export const json: Schema = { kind: "json" };
export const map: Schema = { kind: "map" };
/** For fields that the specification does not type. */
export const stringOrNumber: Schema = { kind: "union", options: [string, number] };
/** An integer from 0 to 2^53-1: an ID, a count or a step. */
export const count: Schema = { kind: "integer", min: 0, max: Number.MAX_SAFE_INTEGER };
/** A duration in milliseconds. */
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

/** A field that every frame of the type has. */
export function required(schema: Schema, about: string, zh?: string): Field {
  return { schema, required: true, additional: false, about, zh };
}

/** A field of the specification that senders may leave out. */
export function optional(schema: Schema, about: string, zh?: string): Field {
  return { schema, required: false, additional: false, about, zh };
}

/** An optional field that the specification does not define. */
export function additional(schema: Schema, about: string, zh?: string): Field {
  return { schema, required: false, additional: true, about, zh };
}
