/** Fields that are there: what is undefined or null is left out, the rest keeps its order. */
import { keepFields } from "../protocol/json.ts";

type Present<T> = { readonly [K in keyof T]: NonNullable<T[K]> };

export function dropMissing<T extends { readonly [name: string]: unknown }>(fields: T): Present<T> {
  return keepFields(fields, (_name, value) => value != null) as Present<T>;
}
