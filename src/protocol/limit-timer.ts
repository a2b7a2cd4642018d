/** The longest delay of a timer. With a longer one, `setTimeout` fires at once. */
export const MAX_TIMER_MS = 2 ** 31 - 1;

/** Returns the delay, or the longest one that is possible. */
export function limitTimer(ms: number): number {
  return Math.min(ms, MAX_TIMER_MS);
}
