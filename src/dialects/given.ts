/** Fields of a frame that are there: what is undefined is left out. */
import type { Json, JsonObject } from "../protocol/index.ts";

export function given(fields: { readonly [name: string]: Json | undefined }): JsonObject {
  return Object.fromEntries(Object.entries(fields).filter((entry): entry is [string, Json] => entry[1] !== undefined));
}
