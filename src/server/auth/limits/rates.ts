/**
 * Limits the requests and the started runs of a principal per minute, with a token bucket each.
 *
 * Invariant: the number of remembered principals is limited; the least recently used is forgotten first and then starts
 * with a full bucket.
 */
import { LoomError } from "../../../protocol/index.ts";
import { BoundedMap } from "../../../protocol/bounded-map.ts";
import { accountOf, type Principal, type PrincipalLimits, DEFAULT_PRINCIPAL_LIMITS } from "../principal.ts";

export interface RatesOptions {
  /** Limits for principals that set none. Default: `DEFAULT_PRINCIPAL_LIMITS`. */
  readonly limits?: Pick<PrincipalLimits, "requestsPerMinute" | "runsPerMinute"> | undefined;
  /** Principals to remember. Default: 10,000. */
  readonly maxPrincipals?: number | undefined;
  readonly now?: (() => number) | undefined;
}

export interface Rates {
  /** Counts one request. Throws `rate_limited`, with `retry_after_ms`; rejected requests do not count. */
  takeRequest(principal: Principal): void;
  takeRun(principal: Principal): void;
}

/** Remaining requests or runs at the time `at`. */
interface Bucket {
  left: number;
  at: number;
}

type RateName = keyof NonNullable<RatesOptions["limits"]>;

const MINUTE_MS = 60_000;
const MAX_PRINCIPALS = 10_000;
const NOUNS: { readonly [name in RateName]: string } = { requestsPerMinute: "requests", runsPerMinute: "runs" };

export function createRates({ limits = {}, maxPrincipals = MAX_PRINCIPALS, now = Date.now }: RatesOptions = {}): Rates {
  const buckets: { readonly [name in RateName]: BoundedMap<Bucket> } = {
    requestsPerMinute: new BoundedMap(maxPrincipals),
    runsPerMinute: new BoundedMap(maxPrincipals),
  };

  function take(name: RateName, principal: Principal): void {
    // These principals have no credential to count for.
    if (principal.kind === "local" || principal.kind === "anonymous") return;
    const limit = principal.limits[name] ?? limits[name] ?? DEFAULT_PRINCIPAL_LIMITS[name];
    const at = now();
    const account = accountOf(principal);
    const known = buckets[name].get(account) ?? { left: limit, at };
    // A clock that was set back does not change the bucket.
    const left = Math.min(limit, known.left + (Math.max(0, at - known.at) * limit) / MINUTE_MS);
    const isAllowed = left >= 1;
    buckets[name].set(account, { left: isAllowed ? left - 1 : left, at });
    if (isAllowed) return;
    const waitMs = limit > 0 ? Math.ceil(((1 - left) * MINUTE_MS) / limit) : MINUTE_MS;
    throw new LoomError(
      "rate_limited",
      `Rate limit reached: ${limit} ${NOUNS[name]} per minute; try again in ${Math.ceil(waitMs / 1000)} s`,
      {
        limit,
        retry_after_ms: waitMs,
      },
    );
  }

  return {
    takeRequest: (principal) => take("requestsPerMinute", principal),
    takeRun: (principal) => take("runsPerMinute", principal),
  };
}
