/**
 * Statistics of durations in constant memory: count, sum, minimum, maximum, and a histogram for percentiles. Mergeable.
 *
 * Invariants:
 * - Merging in any order gives exactly the same result, because times are stored as integer microseconds.
 * - Each bucket is an eighth of a doubling, so a percentile is at most 5 % off. There are at most 332 buckets.
 */

/** Statistics of durations, in milliseconds. */
export interface TimingSummary {
  readonly count: number;
  readonly sumMs: number;
  /** 0 if `count` is 0. */
  readonly minMs: number;
  readonly maxMs: number;
  readonly meanMs: number;
  readonly p50Ms: number;
  readonly p95Ms: number;
  readonly p99Ms: number;
}

const PER_DOUBLING = 8;

export class Timing {
  #count = 0;
  #sum = 0;
  #min = Number.POSITIVE_INFINITY;
  #max = 0;
  /** Counts by bucket; bucket 0 is for durations of 0. */
  readonly #buckets = new Map<number, number>();

  /** Adds a duration in milliseconds, finite and not negative. */
  add(ms: number): void {
    const us = Math.round(ms * 1000);
    this.#count++;
    this.#sum += us;
    this.#min = Math.min(this.#min, us);
    this.#max = Math.max(this.#max, us);
    this.#fill(us < 1 ? 0 : 1 + Math.floor(Math.log2(us) * PER_DOUBLING), 1);
  }

  merge(other: Timing): void {
    this.#count += other.#count;
    this.#sum += other.#sum;
    this.#min = Math.min(this.#min, other.#min);
    this.#max = Math.max(this.#max, other.#max);
    for (const [bucket, count] of other.#buckets) this.#fill(bucket, count);
  }

  summarize(): TimingSummary {
    const [p50Ms = 0, p95Ms = 0, p99Ms = 0] = this.#findQuantiles([0.5, 0.95, 0.99]);
    return {
      count: this.#count,
      sumMs: this.#sum / 1000,
      minMs: this.#count === 0 ? 0 : this.#min / 1000,
      maxMs: this.#max / 1000,
      meanMs: this.#count === 0 ? 0 : this.#sum / this.#count / 1000,
      p50Ms,
      p95Ms,
      p99Ms,
    };
  }

  #fill(bucket: number, count: number): void {
    this.#buckets.set(bucket, (this.#buckets.get(bucket) ?? 0) + count);
  }

  /** Returns quantiles in milliseconds. `shares` must be ascending. */
  #findQuantiles(shares: readonly number[]): number[] {
    const buckets = [...this.#buckets].toSorted(([a], [b]) => a - b);
    let seen = 0;
    let at = -1;
    return shares.map((share) => {
      // A percentile is a measured value, as precise as its bucket.
      const rank = Math.max(1, Math.ceil(share * this.#count));
      while (seen < rank && at + 1 < buckets.length) seen += buckets[++at]?.[1] ?? 0;
      const bucket = buckets[at]?.[0] ?? 0;
      const middle = bucket === 0 ? 0 : 2 ** ((bucket - 0.5) / PER_DOUBLING);
      return this.#count === 0 ? 0 : Math.round(Math.min(Math.max(middle, this.#min), this.#max)) / 1000;
    });
  }
}
