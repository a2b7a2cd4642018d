/** Checks numeric options. Throws a RangeError for a limit or time that is not valid. */
import { MAX_TIMER_MS } from "../protocol/limit-timer.ts";

export function assertLimit(name: string, value: number, least: number): number {
  if (Number.isSafeInteger(value) && value >= least) return value;
  throw new RangeError(`\`${name}\` must be an integer of at least ${least}, not ${value}`);
}

/** Checks a time in milliseconds. `Infinity` means no time limit. */
export function assertTime(name: string, value: number, least: number): number {
  if (value === Number.POSITIVE_INFINITY || (value >= least && value <= MAX_TIMER_MS)) return value;
  throw new RangeError(
    `\`${name}\` must be a number of milliseconds from ${least} to ${MAX_TIMER_MS}, or Infinity, not ${value}`,
  );
}
