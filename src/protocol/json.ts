/**
 * The values a JSON text can hold. Everything that crosses a wire is one of these.
 */
export type Json = string | number | boolean | null | readonly Json[] | JsonObject;

export interface JsonObject {
  readonly [key: string]: Json;
}

export function isJsonObject(value: unknown): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

export function toJsonObject(value: unknown): JsonObject {
  return isJsonObject(value) ? value : {};
}

/** The fields of `value` that `keep` says yes to, in their order. */
export function keepFields<V>(
  value: { readonly [name: string]: V },
  keep: (name: string, value: V) => boolean | undefined,
): { readonly [name: string]: V } {
  return Object.fromEntries(Object.entries(value).filter(([name, inner]) => keep(name, inner)));
}

/** How deep a free-form value may nest before it is refused: deeper ones make JSON.stringify overflow its stack. */
export const MAX_JSON_DEPTH = 256;

/** True when `value` nests deeper than `limit`. Never recurses further than the limit itself. */
export function isDeeperThan(value: unknown, limit: number = MAX_JSON_DEPTH): boolean {
  if (typeof value !== "object" || value === null) return false;
  if (limit <= 0) return true;
  if (Array.isArray(value)) return value.some((item) => typeof item === "object" && isDeeperThan(item, limit - 1));
  for (const key in value) {
    const inner = (value as { readonly [key: string]: unknown })[key];
    if (typeof inner === "object" && isDeeperThan(inner, limit - 1)) return true;
  }
  return false;
}
