/**
 * How often an address has shown something that is no good, so that nobody tries for ever. It knows no credential.
 *
 * Invariant: no more than a limit of addresses is remembered; the one that failed longest ago makes room.
 */
import { BoundedMap, LoomError } from "../../../protocol/index.ts";

export interface FailuresOptions {
  /** Within a minute; 20 when absent. Code `rate_limited`. */
  readonly maxFailures?: number | undefined;
  /** Addresses that are remembered; 10,000 when absent. */
  readonly maxAddresses?: number | undefined;
  readonly now?: (() => number) | undefined;
}

export interface Failures {
  /** Throws `rate_limited`, with `retry_after_ms`, where there were too many. */
  assertFew(address: string | undefined): void;
  add(address: string | undefined): void;
}

interface Count {
  readonly since: number;
  readonly count: number;
}

const MINUTE_MS = 60_000;
const MAX_FAILURES = 20;
const MAX_ADDRESSES = 10_000;
/** All whose address is not known are one. */
const UNKNOWN = "unknown";

export function createFailures(options: FailuresOptions = {}): Failures {
  const { maxFailures = MAX_FAILURES, maxAddresses = MAX_ADDRESSES, now = Date.now } = options;
  const counts = new BoundedMap<Count>(maxAddresses);
  const find = (key: string): Count | undefined => {
    const known = counts.get(key);
    if (known === undefined) return undefined;
    const age = now() - known.since;
    return age >= 0 && age < MINUTE_MS ? known : undefined;
  };
  return {
    assertFew(address) {
      const known = find(placeOf(address));
      if (known === undefined || known.count < maxFailures) return;
      throw new LoomError("rate_limited", "too much was shown that is no good: ask again in a minute", {
        limit: maxFailures,
        retry_after_ms: Math.max(1, known.since + MINUTE_MS - now()),
      });
    },
    add(address) {
      const key = placeOf(address);
      const { since, count } = find(key) ?? { since: now(), count: 0 };
      counts.set(key, { since, count: count + 1 });
    },
  };
}

/** Of IPv6 the network: whoever has one has all of its addresses. */
function placeOf(address: string | undefined): string {
  if (address === undefined) return UNKNOWN;
  return address.includes(":") ? networkOf(address) : address;
}

function networkOf(address: string): string {
  const [head = "", tail] = address.split("::");
  const groups = head === "" ? [] : head.split(":");
  // What stands for as many zeros as are missing matters where it begins within the network.
  const rest = tail === undefined || tail === "" ? [] : tail.split(":");
  const zeros = tail === undefined ? 0 : Math.max(0, 8 - groups.length - rest.length);
  const whole = [...groups, ...Array.from({ length: zeros }, () => "0"), ...rest];
  return whole
    .slice(0, 4)
    .map((group) => Number.parseInt(group, 16).toString(16))
    .join(":");
}
