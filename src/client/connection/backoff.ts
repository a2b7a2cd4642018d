/** Reconnection delays: exponential backoff with full jitter. */

/** Delays and number of reconnection attempts. */
export interface ReconnectOptions {
  /** Upper bound of the first delay, in milliseconds. Default: 250. */
  readonly initialMs: number;
  /** Factor by which the upper bound grows with each attempt. Default: 2. */
  readonly factor: number;
  /** Maximum delay in milliseconds, even if the server asks for more. Default: 15,000. */
  readonly maxMs: number;
  /** Consecutive attempts without progress before the connection fails with `reconnect_limit`. Default: 20. */
  readonly maxAttempts: number;
}

/** Default reconnection options. */
export const DEFAULT_RECONNECT: ReconnectOptions = { initialMs: 250, factor: 2, maxMs: 15_000, maxAttempts: 20 };

/**
 * Computes the delay before attempt number `attempt`, counted from 1. `random` (0 to 1) picks a point below the upper
 * bound, so that clients that disconnect together do not reconnect together. The delay is at least `retryAfterMs`, up
 * to `maxMs`.
 */
export function computeBackoff(
  attempt: number,
  { initialMs, factor, maxMs }: ReconnectOptions,
  random: number,
  retryAfterMs = 0,
): number {
  const ceiling = Math.min(maxMs, initialMs * factor ** Math.min(attempt - 1, MAX_EXPONENT));
  return Math.max(random * ceiling, Math.min(retryAfterMs, maxMs));
}

/** Keeps the power finite. */
const MAX_EXPONENT = 60;
