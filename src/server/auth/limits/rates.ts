/**
 * How often a credential may ask, and how often it may begin runs: so many in a minute, all at once or spread. It knows
 * neither requests nor runs.
 *
 * Invariant: no more than a limit of credentials is remembered. One that is forgotten, the one that has asked for nothing
 * the longest, begins anew with all it may have.
 */
import { BoundedMap, LoomError } from "../../../protocol/index.ts";
import { accountOf, type Principal, type PrincipalLimits, USUAL_LIMITS } from "../principal.ts";

export interface RatesOptions {
  /** Of credentials that have none of their own; the usual ones when absent. */
  readonly limits?: Pick<PrincipalLimits, "requestsPerMinute" | "runsPerMinute"> | undefined;
  /** Credentials that are remembered; 10,000 when absent. */
  readonly maxPrincipals?: number | undefined;
  readonly now?: (() => number) | undefined;
}

export interface Rates {
  /** One more. Throws `rate_limited`, with `retry_after_ms`; what is refused does not count. */
  takeRequest(principal: Principal): void;
  takeRun(principal: Principal): void;
}

/** What is left of a minute's share at a time. */
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
    // Nobody to count for.
    if (principal.kind === "local" || principal.kind === "nobody") return;
    const limit = principal.limits[name] ?? limits[name] ?? USUAL_LIMITS[name];
    const at = now();
    const account = accountOf(principal);
    const known = buckets[name].get(account) ?? { left: limit, at };
    // A clock that was set back gives nothing, and takes nothing away.
    const left = Math.min(limit, known.left + (Math.max(0, at - known.at) * limit) / MINUTE_MS);
    const isAllowed = left >= 1;
    buckets[name].set(account, { left: isAllowed ? left - 1 : left, at });
    if (isAllowed) return;
    const waitMs = limit > 0 ? Math.ceil(((1 - left) * MINUTE_MS) / limit) : MINUTE_MS;
    throw new LoomError("rate_limited", `at most ${limit} ${NOUNS[name]} a minute: ask again in a moment`, {
      limit,
      retry_after_ms: waitMs,
    });
  }

  return {
    takeRequest: (principal) => take("requestsPerMinute", principal),
    takeRun: (principal) => take("runsPerMinute", principal),
  };
}
