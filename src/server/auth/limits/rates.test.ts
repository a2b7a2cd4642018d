import { describe, expect, it } from "vitest";
import { LOCAL, ANONYMOUS, type Principal, type PrincipalLimits } from "../principal.ts";
import { testRateCounters } from "../../../../test/contracts/rate-counters.ts";
import { countFailure, createMemoryRateCounters, createRates } from "./rates.ts";

const token = (id: string, limits: PrincipalLimits = {}): Principal => ({ ...ANONYMOUS, kind: "token", id, limits });

/** Returns how many of the attempts are accepted. */
async function flood(take: (principal: Principal) => Promise<void>, principal: Principal, times: number) {
  const results = await Promise.allSettled(Array.from({ length: times }, () => take(principal)));
  for (const result of results)
    if (result.status === "rejected") expect(result.reason).toMatchObject({ code: "rate_limited" });
  return results.filter(({ status }) => status === "fulfilled").length;
}

const open = (limits: PrincipalLimits = {}) => {
  const take = createRates(createMemoryRateCounters({ now: () => 0 }), limits);
  return {
    takeRequest: async (principal: Principal) => take("requestsPerMinute", principal),
    takeRun: async (principal: Principal) => take("runsPerMinute", principal),
  };
};

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

describe("rate counters in memory", () => {
  testRateCounters(async (clock) => createMemoryRateCounters({ now: () => clock.now }), 100);

  it("remember a limited number of keys, the least recently used not", async () => {
    const { take, count } = createMemoryRateCounters({ maxKeys: 10, now: () => 0 });
    await take("first", 1);
    for (let at = 0; at < 9; at++) await take(`t${at}`, 1);
    expect(await take("first", 1)).not.toBe(0);
    await take("t9", 1);
    expect(await take("first", 1)).not.toBe(0);
    expect(await take("t0", 1)).toBe(0);
    for (let at = 0; at < 11; at++) await count(`t${at}`, 1);
    expect([await count("t10", 1), await count("t0", 1)]).toEqual([60_000, 0]);
  });
});

const createFixture = (maxFailures = 3) => {
  const clock = { now: 1_000_000 };
  const counters = createMemoryRateCounters({ now: () => clock.now });
  const add = async (address: string | undefined) => countFailure(counters, address, maxFailures);
  /** Returns whether the address was below the limit each time. */
  const fail = async (address: string | undefined, times = 1): Promise<boolean> => {
    const results = await Promise.allSettled(Array.from({ length: times }, () => add(address)));
    for (const result of results)
      if (result.status === "rejected") expect(result.reason).toMatchObject({ code: "rate_limited" });
    return results.every(({ status }) => status === "fulfilled");
  };
  return { clock, add, fail };
};

describe("invalid credentials", () => {
  it("are counted per address for a minute", async () => {
    const { clock, add, fail } = createFixture();
    expect(await fail("10.0.0.1", 2)).toBe(true);
    clock.now += 10_000;
    expect(await fail("10.0.0.1")).toBe(true);
    expect([await fail("10.0.0.1"), await fail("10.0.0.2"), await fail(undefined)]).toEqual([false, true, true]);
    await expect(add("10.0.0.1")).rejects.toThrow(
      expect.objectContaining({ details: { limit: 3, retry_after_ms: 50_000 } }) as Error,
    );
    clock.now += 50_000;
    expect(await fail("10.0.0.1", 3)).toBe(true);
  });

  it.each([
    ["2001:db8:1:2::1", "2001:db8:1:2:ffff::9", true],
    ["2001:db8:1:2::1", "2001:0db8:0001:0002:3:4:5:6", true],
    ["2001:db8::1", "2001:db8:0:0:7::", true],
    ["2001:db8:1:2::1", "2001:db8:1:3::1", false],
    ["::1", "1::", false],
  ])("are counted per IPv6 network: %s and %s", async (one, other, isSame) => {
    const { fail } = createFixture();
    await fail(one, 3);
    expect(await fail(other)).toBe(!isSame);
  });

  it("share a count for unknown addresses and survive a clock set back", async () => {
    const { clock, fail } = createFixture(1);
    expect([await fail(undefined), await fail(undefined)]).toEqual([true, false]);
    clock.now -= 3_600_000;
    expect(await fail(undefined)).toBe(true);
  });
});
