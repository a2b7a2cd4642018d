/**
 * Counts invalid credentials per address, to stop guessing.
 *
 * Invariant: the number of remembered addresses is limited; the one with the oldest failure is forgotten first.
 */
import { LoomError } from "../../../protocol/index.ts";
import { BoundedMap } from "../../../protocol/bounded-map.ts";

export interface FailuresOptions {
  /** Invalid credentials per address and minute. Default: 20. Code `rate_limited`. */
  readonly maxFailures?: number | undefined;
  /** Addresses to remember. Default: 10,000. */
  readonly maxAddresses?: number | undefined;
  readonly now?: (() => number) | undefined;
}

export interface Failures {
  /** Throws `rate_limited`, with `retry_after_ms`, if the address has reached the limit. */
  assertBelowLimit(address: string | undefined): void;
  add(address: string | undefined): void;
}

interface FailureCount {
  readonly since: number;
  readonly count: number;
}

const MINUTE_MS = 60_000;
const MAX_FAILURES = 20;
const MAX_ADDRESSES = 10_000;
/** All requests without a known address share one count. */
const UNKNOWN = "unknown";

export function createFailures(options: FailuresOptions = {}): Failures {
  const { maxFailures = MAX_FAILURES, maxAddresses = MAX_ADDRESSES, now = Date.now } = options;
  const counts = new BoundedMap<FailureCount>(maxAddresses);
  const find = (key: string): FailureCount | undefined => {
    const known = counts.get(key);
    if (known === undefined) return undefined;
    const age = now() - known.since;
    return age >= 0 && age < MINUTE_MS ? known : undefined;
  };
  return {
    assertBelowLimit(address) {
      const known = find(addressKeyOf(address));
      if (known === undefined || known.count < maxFailures) return;
      const retryMs = Math.max(1, known.since + MINUTE_MS - now());
      const seconds = Math.ceil(retryMs / 1000);
      throw new LoomError("rate_limited", `Too many invalid credentials from this address; try again in ${seconds} s`, {
        limit: maxFailures,
        retry_after_ms: retryMs,
      });
    },
    add(address) {
      const key = addressKeyOf(address);
      const { since, count } = find(key) ?? { since: now(), count: 0 };
      counts.set(key, { since, count: count + 1 });
    },
  };
}

/** The key to count requests by: for IPv6 the /64 network, because one client usually has a whole network. */
export function addressKeyOf(address: string | undefined): string {
  if (address === undefined) return UNKNOWN;
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
