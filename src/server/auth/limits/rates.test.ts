import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { isLoomError } from "../../../protocol/index.ts";
import { LOCAL, ANONYMOUS, type Principal, type PrincipalLimits } from "../principal.ts";
import { createRates, type Rates } from "./rates.ts";

const token = (id: string, limits: PrincipalLimits = {}): Principal => ({ ...ANONYMOUS, kind: "token", id, limits });

/** Returns how many of the attempts are accepted. */
function flood(take: Rates["takeRequest"], principal: Principal, times: number): number {
  let taken = 0;
  for (let at = 0; at < times; at++)
    try {
      take(principal);
      taken++;
    } catch (error) {
      if (!isLoomError(error, "rate_limited")) throw error;
    }
  return taken;
}

describe("rate limits", () => {
  it("allow the limit per minute and report when to retry", () => {
    let now = 0;
    const { takeRequest, takeRun } = createRates({ now: () => now });
    expect(flood(takeRequest, token("a"), 1000)).toBe(600);
    expect(flood(takeRun, token("a"), 1000)).toBe(60);
    // Principals are counted separately.
    expect(flood(takeRequest, token("b"), 10)).toBe(10);
    expect(() => takeRequest(token("a"))).toThrow(
      expect.objectContaining({ code: "rate_limited", details: { limit: 600, retry_after_ms: 100 } }),
    );
    now += 99;
    expect(flood(takeRequest, token("a"), 10)).toBe(0);
    now += 1;
    expect(flood(takeRequest, token("a"), 10)).toBe(1);
    now += 10 * 60_000;
    expect(flood(takeRequest, token("a"), 1000)).toBe(600);
  });

  it("use the limits of the credential, then of the server, and none for local callers", () => {
    const { takeRequest, takeRun } = createRates({ limits: { requestsPerMinute: 5, runsPerMinute: 0 }, now: () => 0 });
    expect(flood(takeRequest, token("a"), 100)).toBe(5);
    expect(flood(takeRequest, token("b", { requestsPerMinute: 7 }), 100)).toBe(7);
    expect(flood(takeRequest, LOCAL, 100)).toBe(100);
    expect(() => takeRun(token("a"))).toThrow(
      expect.objectContaining({ details: { limit: 0, retry_after_ms: 60_000 } }),
    );
  });

  it("never allow more than the bucket holds and keep the promised retry time", () => {
    fc.assert(
      fc.property(
        fc.array(fc.record({ waitMs: fc.nat(5000), times: fc.nat(8) }), { maxLength: 100 }),
        fc.integer({ min: 1, max: 40 }),
        (steps, limit) => {
          let now = 0;
          const { takeRequest } = createRates({ limits: { requestsPerMinute: limit }, now: () => now });
          let taken = 0;
          for (const { waitMs, times } of steps) {
            now += waitMs;
            taken += flood(takeRequest, token("a"), times);
            expect(taken).toBeLessThanOrEqual(limit + Math.floor((now * limit) / 60_000 + 1e-6));
          }
          try {
            for (;;) takeRequest(token("a"));
          } catch (error) {
            if (!isLoomError(error)) throw error;
            now += Number(error.details["retry_after_ms"]);
          }
          takeRequest(token("a"));
        },
      ),
      { numRuns: 100 },
    );
  });

  it("remember a limited number of principals", () => {
    const { takeRequest } = createRates({ limits: { requestsPerMinute: 1 }, maxPrincipals: 10, now: () => 0 });
    takeRequest(token("first"));
    for (let at = 0; at < 9; at++) takeRequest(token(`t${at}`));
    expect(flood(takeRequest, token("first"), 1)).toBe(0);
    // Recently used, so it is not the oldest.
    takeRequest(token("t9"));
    expect(flood(takeRequest, token("first"), 1)).toBe(0);
    expect(flood(takeRequest, token("t0"), 1)).toBe(1);
  });

  it("do not refill when the clock is set back", () => {
    let now = 1000_000;
    const { takeRequest } = createRates({ limits: { requestsPerMinute: 2 }, now: () => now });
    expect(flood(takeRequest, token("a"), 5)).toBe(2);
    now -= 900_000;
    expect(flood(takeRequest, token("a"), 5)).toBe(0);
    now += 30_000;
    expect(flood(takeRequest, token("a"), 5)).toBe(1);
  });
});
