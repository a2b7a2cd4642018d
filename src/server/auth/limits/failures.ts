/** Counts invalid credentials per address, to stop guessing. */
import { LoomError } from "../../../protocol/index.ts";
import type { RateCounters } from "./rate-counters.ts";

export interface FailuresOptions {
  readonly counters: Pick<RateCounters, "count">;
  /** Invalid credentials per address and minute. Default: 20. Code `rate_limited`. */
  readonly maxFailures?: number | undefined;
}

export interface Failures {
  /** Counts an invalid credential. Rejects with `rate_limited` and `retry_after_ms` if the address has reached the limit. */
  add(address: string | undefined): Promise<void>;
}

const MAX_FAILURES = 20;
/** All requests without a known address share one count. */
const UNKNOWN = "unknown";

export function createFailures({ counters, maxFailures = MAX_FAILURES }: FailuresOptions): Failures {
  return {
    async add(address) {
      const waitMs = await counters.count(`failures ${addressKeyOf(address)}`, maxFailures);
      if (waitMs === 0) return;
      const seconds = Math.ceil(waitMs / 1000);
      throw new LoomError("rate_limited", `Too many invalid credentials from this address; try again in ${seconds} s`, {
        limit: maxFailures,
        retry_after_ms: waitMs,
      });
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
