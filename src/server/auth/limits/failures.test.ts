import { describe, expect, it } from "vitest";
import { createFailures } from "./failures.ts";

const createFixture = (maxFailures = 3, maxAddresses = 100) => {
  const clock = { now: 1_000_000 };
  const failures = createFailures({ maxFailures, maxAddresses, now: () => clock.now });
  const isBlocked = (address: string | undefined): boolean => {
    try {
      failures.assertBelowLimit(address);
      return false;
    } catch (error) {
      expect(error).toMatchObject({ code: "rate_limited" });
      return true;
    }
  };
  const fail = (address: string | undefined, times = 1): void => {
    for (let i = 0; i < times; i++) failures.add(address);
  };
  return { clock, failures, isBlocked, fail };
};

describe("invalid credentials", () => {
  it("are counted per address for a minute", () => {
    const { clock, failures, isBlocked, fail } = createFixture();
    fail("10.0.0.1", 2);
    expect(isBlocked("10.0.0.1")).toBe(false);
    clock.now += 10_000;
    fail("10.0.0.1");
    expect([isBlocked("10.0.0.1"), isBlocked("10.0.0.2"), isBlocked(undefined)]).toEqual([true, false, false]);
    expect(() => failures.assertBelowLimit("10.0.0.1")).toThrow(
      expect.objectContaining({ details: { limit: 3, retry_after_ms: 50_000 } }) as Error,
    );
    clock.now += 50_000;
    expect(isBlocked("10.0.0.1")).toBe(false);
    fail("10.0.0.1", 2);
    expect(isBlocked("10.0.0.1")).toBe(false);
  });

  it.each([
    ["2001:db8:1:2::1", "2001:db8:1:2:ffff::9", true],
    ["2001:db8:1:2::1", "2001:0db8:0001:0002:3:4:5:6", true],
    ["2001:db8::1", "2001:db8:0:0:7::", true],
    ["2001:db8:1:2::1", "2001:db8:1:3::1", false],
    ["::1", "1::", false],
  ])("are counted per IPv6 network: %s and %s", (one, other, isSame) => {
    const { isBlocked, fail } = createFixture();
    fail(one, 3);
    expect(isBlocked(other)).toBe(isSame);
  });

  it("are remembered for a limited number of addresses", () => {
    const { isBlocked, fail } = createFixture(1, 2);
    for (const address of ["10.0.0.1", "10.0.0.2", "10.0.0.3"]) fail(address);
    expect([isBlocked("10.0.0.1"), isBlocked("10.0.0.2"), isBlocked("10.0.0.3")]).toEqual([false, true, true]);
  });

  it("share a count for unknown addresses and survive a clock set back", () => {
    const { clock, isBlocked, fail } = createFixture(1);
    fail(undefined);
    expect(isBlocked(undefined)).toBe(true);
    clock.now -= 3_600_000;
    expect(isBlocked(undefined)).toBe(false);
  });
});
