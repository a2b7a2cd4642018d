/** Returns a deep copy of a JSON value. */
export function copyJson<T>(value: T): T {
  if (typeof value !== "object" || value === null) return value;
  if (Array.isArray(value)) return value.map((item: unknown) => copyJson(item)) as T;
  const copy: { [name: string]: unknown } = { ...(value as object) };
  for (const name of Object.keys(copy)) if (typeof copy[name] === "object") copy[name] = copyJson(copy[name]);
  return copy as T;
}
