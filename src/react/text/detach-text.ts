/**
 * Copies a substring, so that it does not retain its source. Engines may store a substring as a view into the whole
 * string; pieces of a growing text would keep every version in memory.
 */
export function detachText(piece: string): string {
  // Concatenating and slicing creates a new string.
  return ` ${piece}`.slice(1);
}
