/** Removes fields without a value. */
import { keepFields } from "./json.ts";

/** The fields of `T`, where those that may be undefined are optional. */
type Defined<T> = {
  [K in keyof T as undefined extends T[K] ? never : K]: T[K];
} & { [K in keyof T as undefined extends T[K] ? K : never]?: Exclude<T[K], undefined> };

type Present<T> = { readonly [K in keyof T]: NonNullable<T[K]> };

/** Removes fields that are undefined; the others keep their order. */
export function dropUndefined<const T extends object>(fields: T): Defined<T> {
  return keepFields(
    fields as { readonly [name: string]: unknown },
    (_name, value) => value !== undefined,
  ) as Defined<T>;
}

/** Removes fields that are undefined or null; the others keep their order. */
export function dropMissing<T extends { readonly [name: string]: unknown }>(fields: T): Present<T> {
  return keepFields(fields, (_name, value) => value != null) as Present<T>;
}
