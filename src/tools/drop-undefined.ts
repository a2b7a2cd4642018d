/** Removes options that are set to undefined. They would override defaults when spread over them. */
export function dropUndefined<T extends object>(given: T): { [Name in keyof T]: Exclude<T[Name], undefined> } {
  const kept = Object.entries(given).filter(([, value]) => value !== undefined);
  return Object.fromEntries(kept) as { [Name in keyof T]: Exclude<T[Name], undefined> };
}
