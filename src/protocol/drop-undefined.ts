/** Removes fields without a value. */
import { keepFields } from "./json.ts";

/** The fields of `T`, where those that may be `Missing` are optional. */
type Present<T, Missing> = {
  [K in keyof T as [Extract<T[K], Missing>] extends [never] ? K : never]: T[K];
} & { [K in keyof T as [Extract<T[K], Missing>] extends [never] ? never : K]?: Exclude<T[K], Missing> };

/** Removes fields that are undefined; the others keep their order. */
export function dropUndefined<const T extends object>(fields: T): Present<T, undefined> {
  return keepFields(fields as { readonly [name: string]: unknown }, (_name, value) => value !== undefined) as Present<
    T,
    undefined
  >;
}

/** Removes fields that are undefined or null; the others keep their order. */
export function dropMissing<T extends { readonly [name: string]: unknown }>(fields: T): Present<T, undefined | null> {
  return keepFields(fields, (_name, value) => value != null) as Present<T, undefined | null>;
}
