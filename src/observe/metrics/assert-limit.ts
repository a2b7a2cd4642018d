/** A limit that cannot work is told to the programmer at once. */
export function assertLimit(name: string, value: number, least: number): number {
  if (Number.isSafeInteger(value) && value >= least) return value;
  throw new RangeError(`\`${name}\` must be a whole number from ${least} on, not ${value}`);
}
