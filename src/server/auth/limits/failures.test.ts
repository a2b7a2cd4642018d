import { describe, expect, it } from "vitest";
import { createMemoryRateCounters } from "./create-memory-rate-counters.ts";
import { createFailures } from "./failures.ts";

const createFixture = (maxFailures = 3) => {
  const clock = { now: 1_000_000 };
  const counters = createMemoryRateCounters({ now: () => clock.now });
  const failures = createFailures({ counters, maxFailures });
  /** Returns whether the address was below the limit each time. */
  const fail = async (address: string | undefined, times = 1): Promise<boolean> => {
    const results = await Promise.allSettled(Array.from({ length: times }, () => failures.add(address)));
    for (const result of results)
      if (result.status === "rejected") expect(result.reason).toMatchObject({ code: "rate_limited" });
    return results.every(({ status }) => status === "fulfilled");
  };
  return { clock, failures, fail };
};

describe("invalid credentials", () => {
  it("are counted per address for a minute", async () => {
    const { clock, failures, fail } = createFixture();
    expect(await fail("10.0.0.1", 2)).toBe(true);
    clock.now += 10_000;
    expect(await fail("10.0.0.1")).toBe(true);
    expect([await fail("10.0.0.1"), await fail("10.0.0.2"), await fail(undefined)]).toEqual([false, true, true]);
    await expect(failures.add("10.0.0.1")).rejects.toThrow(
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
