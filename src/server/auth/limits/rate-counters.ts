/**
 * Counts events per minute for the limits of credentials and addresses. Servers that share the counters share the
 * limits. Each operation checks and counts in one step, so concurrent requests cannot exceed a limit.
 */
export interface RateCounters {
  /**
   * Takes one event from a bucket that holds `limit` and refills with `limit` per minute. Returns 0 if it was taken,
   * otherwise the milliseconds until the next one. A clock that was set back does not refill the bucket.
   */
  take(key: string, limit: number): Promise<number>;
  /**
   * Counts one of at most `limit` events in a minute that starts with the first one. Returns 0 if it was counted,
   * otherwise the milliseconds until the minute ends.
   */
  count(key: string, limit: number): Promise<number>;
}
