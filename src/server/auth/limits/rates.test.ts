import { describe, expect, it } from "vitest";
import { LOCAL, ANONYMOUS, type Principal, type PrincipalLimits } from "../principal.ts";
import { createMemoryRateCounters } from "./create-memory-rate-counters.ts";
import { createRates, type Rates } from "./rates.ts";

const token = (id: string, limits: PrincipalLimits = {}): Principal => ({ ...ANONYMOUS, kind: "token", id, limits });

/** Returns how many of the attempts are accepted. */
async function flood(take: Rates["takeRequest"], principal: Principal, times: number): Promise<number> {
  const results = await Promise.allSettled(Array.from({ length: times }, () => take(principal)));
  for (const result of results)
    if (result.status === "rejected") expect(result.reason).toMatchObject({ code: "rate_limited" });
  return results.filter(({ status }) => status === "fulfilled").length;
}

const open = (limits: PrincipalLimits = {}): Rates =>
  createRates({ counters: createMemoryRateCounters({ now: () => 0 }), limits });

describe("rate limits", () => {
  it("count requests and runs of each principal, and report when to retry", async () => {
    const { takeRequest, takeRun } = open();
    expect(await flood(takeRequest, token("a"), 1000)).toBe(600);
    expect(await flood(takeRun, token("a"), 1000)).toBe(60);
    expect(await flood(takeRequest, token("b"), 10)).toBe(10);
    await expect(takeRequest(token("a"))).rejects.toThrow(
      expect.objectContaining({ code: "rate_limited", details: { limit: 600, retry_after_ms: 100 } }),
    );
  });

  it("use the limits of the credential, then of the server, and none for local callers", async () => {
    const { takeRequest, takeRun } = open({ requestsPerMinute: 5, runsPerMinute: 0 });
    expect(await flood(takeRequest, token("a"), 100)).toBe(5);
    expect(await flood(takeRequest, token("b", { requestsPerMinute: 7 }), 100)).toBe(7);
    expect(await flood(takeRequest, LOCAL, 100)).toBe(100);
    await expect(takeRun(token("a"))).rejects.toThrow(
      expect.objectContaining({ details: { limit: 0, retry_after_ms: 60_000 } }),
    );
  });

  it("count the share links of one maker together", async () => {
    const { takeRequest } = open({ requestsPerMinute: 5 });
    const link = (id: string): Principal => ({ ...token(id), kind: "share", account: "links of token:a" });
    expect(await flood(takeRequest, link("share:1"), 3)).toBe(3);
    expect(await flood(takeRequest, link("share:2"), 3)).toBe(2);
  });
});
