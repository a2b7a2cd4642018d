/** Limits events per minute: requests and started runs of a principal, and invalid credentials of an address. */
import { BoundedMap } from "../../../protocol/bounded-map.ts";
import { LoomError } from "../../../protocol/index.ts";
import { accountOf, DEFAULT_PRINCIPAL_LIMITS, type Principal, type PrincipalLimits } from "../principal.ts";

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

/**
 * Rate counters of one process.
 *
 * Invariant: the number of remembered keys is limited; the least recently used is forgotten first and then starts again.
 */
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
/** Invalid credentials per address and minute. */
const MAX_FAILURES = 20;

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

type RateName = "requestsPerMinute" | "runsPerMinute";

const NOUNS: { readonly [name in RateName]: string } = { requestsPerMinute: "requests", runsPerMinute: "runs" };

/** Counts the requests and the started runs of principals. `limits`: of principals that set none. */
export function createRates(
  counters: Pick<RateCounters, "take">,
  limits: Pick<PrincipalLimits, RateName>,
): (name: RateName, principal: Principal) => Promise<void> {
  /** Rejects with `rate_limited` and `retry_after_ms`; rejected requests do not count. */
  return async (name, principal) => {
    // These principals have no credential to count for.
    if (principal.kind === "local" || principal.kind === "anonymous") return;
    const limit = principal.limits[name] ?? limits[name] ?? DEFAULT_PRINCIPAL_LIMITS[name];
    const waitMs = await counters.take(`${NOUNS[name]} ${accountOf(principal)}`, limit);
    if (waitMs === 0) return;
    throw new LoomError(
      "rate_limited",
      `Rate limit reached: ${limit} ${NOUNS[name]} per minute; try again in ${Math.ceil(waitMs / 1000)} s`,
      { limit, retry_after_ms: waitMs },
    );
  };
}

/**
 * Counts an invalid credential, to stop guessing. Rejects with `rate_limited` and `retry_after_ms` if the address has
 * reached the limit of a minute.
 */
export async function countFailure(
  counters: Pick<RateCounters, "count">,
  address: string | undefined,
  maxFailures: number = MAX_FAILURES,
): Promise<void> {
  const waitMs = await counters.count(`failures ${addressKeyOf(address)}`, maxFailures);
  if (waitMs === 0) return;
  const seconds = Math.ceil(waitMs / 1000);
  throw new LoomError("rate_limited", `Too many invalid credentials from this address; try again in ${seconds} s`, {
    limit: maxFailures,
    retry_after_ms: waitMs,
  });
}

/** The key to count requests by: for IPv6 the /64 network, because one client usually has a whole network. */
export function addressKeyOf(address: string | undefined): string {
  // All requests without a known address share one count.
  if (address === undefined) return "unknown";
  return address.includes(":") ? networkOf(address) : address;
}

function networkOf(address: string): string {
  const [head = "", tail] = address.split("::");
  const groups = head === "" ? [] : head.split(":");
  // Expand `::` to the missing zero groups: it may be within the network part.
  const rest = tail === undefined || tail === "" ? [] : tail.split(":");
  const zeros = tail === undefined ? 0 : Math.max(0, 8 - groups.length - rest.length);
  const whole = [...groups, ...Array.from({ length: zeros }, () => "0"), ...rest];
  return whole
    .slice(0, 4)
    .map((group) => Number.parseInt(group, 16).toString(16))
    .join(":");
}
