/** A limit that cannot work is told to the programmer at once. */
export function assertLimit(name: string, value: number, least: number): number {
  if (Number.isSafeInteger(value) && value >= least) return value;
  throw new RangeError(`\`${name}\` must be a whole number from ${least} on, not ${value}`);
}

/** What a timer can wait; beyond that it would go off at once. */
const MAX_TIMER_MS = 2_147_483_647;

/** Milliseconds; `Infinity` is no time at all: nothing goes off. */
export function assertTime(name: string, value: number, least: number): number {
  if (value === Number.POSITIVE_INFINITY || (value >= least && value <= MAX_TIMER_MS)) return value;
  throw new RangeError(`\`${name}\` must be milliseconds from ${least} to ${MAX_TIMER_MS}, or Infinity, not ${value}`);
}
