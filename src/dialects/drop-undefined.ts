/** Removes fields that are undefined. */
import type { Json, JsonObject } from "../protocol/index.ts";

export function dropUndefined(fields: { readonly [name: string]: Json | undefined }): JsonObject {
  return Object.fromEntries(Object.entries(fields).filter((entry): entry is [string, Json] => entry[1] !== undefined));
}
