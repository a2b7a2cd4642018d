/** Removes fields that are undefined or null; the others keep their order. */
import { keepFields } from "../protocol/json.ts";

type Present<T> = { readonly [K in keyof T]: NonNullable<T[K]> };

export function dropMissing<T extends { readonly [name: string]: unknown }>(fields: T): Present<T> {
  return keepFields(fields, (_name, value) => value != null) as Present<T>;
}
