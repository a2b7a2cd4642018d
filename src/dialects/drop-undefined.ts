/** Removes fields without a value. */
import { type Json, type JsonObject, keepFields } from "../protocol/json.ts";

type Present<T> = { readonly [K in keyof T]: NonNullable<T[K]> };

/** Removes fields that are undefined. */
export function dropUndefined(fields: { readonly [name: string]: Json | undefined }): JsonObject {
  return keepFields(fields, (_name, value) => value !== undefined) as JsonObject;
}

/** Removes fields that are undefined or null; the others keep their order. */
export function dropMissing<T extends { readonly [name: string]: unknown }>(fields: T): Present<T> {
  return keepFields(fields, (_name, value) => value != null) as Present<T>;
}
