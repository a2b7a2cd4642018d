/**
 * Rate counters of one process.
 *
 * Invariant: the number of remembered keys is limited; the least recently used is forgotten first and then starts again.
 */
import { BoundedMap } from "../../../protocol/bounded-map.ts";
import type { RateCounters } from "./rate-counters.ts";

export interface MemoryRateCountersOptions {
  /** Buckets, and minutes, to remember. Default: 20,000 of each. */
  readonly maxKeys?: number | undefined;
  readonly now?: (() => number) | undefined;
}

/** Remaining events at the time `at`. */
interface Bucket {
  readonly left: number;
  readonly at: number;
}

interface CountedMinute {
  readonly since: number;
  readonly count: number;
}

const MINUTE_MS = 60_000;
const MAX_KEYS = 20_000;

export function createMemoryRateCounters(options: MemoryRateCountersOptions = {}): RateCounters {
  const { maxKeys = MAX_KEYS, now = Date.now } = options;
  const buckets = new BoundedMap<Bucket>(maxKeys);
  const minutes = new BoundedMap<CountedMinute>(maxKeys);
  return {
    async take(key, limit) {
      const at = now();
      const known = buckets.get(key) ?? { left: limit, at };
      const left = Math.min(limit, known.left + (Math.max(0, at - known.at) * limit) / MINUTE_MS);
      const isAllowed = left >= 1;
      buckets.set(key, { left: isAllowed ? left - 1 : left, at });
      if (isAllowed) return 0;
      return limit > 0 ? Math.ceil(((1 - left) * MINUTE_MS) / limit) : MINUTE_MS;
    },
    async count(key, limit) {
      const at = now();
      const known = minutes.get(key);
      const age = known === undefined ? Infinity : at - known.since;
      const { since, count } = known !== undefined && age >= 0 && age < MINUTE_MS ? known : { since: at, count: 0 };
      if (count >= limit) return Math.max(1, since + MINUTE_MS - at);
      minutes.set(key, { since, count: count + 1 });
      return 0;
    },
  };
}
