/** Limits the requests and the started runs of a principal per minute. */
import { LoomError } from "../../../protocol/index.ts";
import { accountOf, type Principal, type PrincipalLimits, DEFAULT_PRINCIPAL_LIMITS } from "../principal.ts";
import type { RateCounters } from "./rate-counters.ts";

export interface RatesOptions {
  readonly counters: Pick<RateCounters, "take">;
  /** Limits for principals that set none. Default: `DEFAULT_PRINCIPAL_LIMITS`. */
  readonly limits?: Pick<PrincipalLimits, "requestsPerMinute" | "runsPerMinute"> | undefined;
}

export interface Rates {
  /** Counts one request. Rejects with `rate_limited` and `retry_after_ms`; rejected requests do not count. */
  takeRequest(principal: Principal): Promise<void>;
  takeRun(principal: Principal): Promise<void>;
}

type RateName = keyof NonNullable<RatesOptions["limits"]>;

const NOUNS: { readonly [name in RateName]: string } = { requestsPerMinute: "requests", runsPerMinute: "runs" };

export function createRates({ counters, limits = {} }: RatesOptions): Rates {
  async function take(name: RateName, principal: Principal): Promise<void> {
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
  }

  return {
    takeRequest: (principal) => take("requestsPerMinute", principal),
    takeRun: (principal) => take("runsPerMinute", principal),
  };
}
