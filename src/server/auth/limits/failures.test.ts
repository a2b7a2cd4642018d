import { describe, expect, it } from "vitest";
import { createFailures } from "./failures.ts";

const setStage = (maxFailures = 3, maxAddresses = 100) => {
  const clock = { now: 1_000_000 };
  const failures = createFailures({ maxFailures, maxAddresses, now: () => clock.now });
  const isOver = (address: string | undefined): boolean => {
    try {
      failures.assertFew(address);
      return false;
    } catch (error) {
      expect(error).toMatchObject({ code: "rate_limited" });
      return true;
    }
  };
  const fail = (address: string | undefined, times = 1): void => {
    for (let i = 0; i < times; i++) failures.add(address);
  };
  return { clock, failures, isOver, fail };
};

describe("what was shown in vain", () => {
  it("is counted for a minute, for each address, and then forgotten", () => {
    const { clock, failures, isOver, fail } = setStage();
    fail("10.0.0.1", 2);
    expect(isOver("10.0.0.1")).toBe(false);
    clock.now += 10_000;
    fail("10.0.0.1");
    expect([isOver("10.0.0.1"), isOver("10.0.0.2"), isOver(undefined)]).toEqual([true, false, false]);
    expect(() => failures.assertFew("10.0.0.1")).toThrow(
      expect.objectContaining({ details: { limit: 3, retry_after_ms: 50_000 } }) as Error,
    );
    clock.now += 50_000;
    expect(isOver("10.0.0.1")).toBe(false);
    fail("10.0.0.1", 2);
    expect(isOver("10.0.0.1")).toBe(false);
  });

  it.each([
    ["2001:db8:1:2::1", "2001:db8:1:2:ffff::9", true],
    ["2001:db8:1:2::1", "2001:0db8:0001:0002:3:4:5:6", true],
    ["2001:db8::1", "2001:db8:0:0:7::", true],
    ["2001:db8:1:2::1", "2001:db8:1:3::1", false],
    ["::1", "1::", false],
  ])("of IPv6 is counted for the network: %s and %s", (one, other, isSame) => {
    const { isOver, fail } = setStage();
    fail(one, 3);
    expect(isOver(other)).toBe(isSame);
  });

  it("is remembered of so many addresses", () => {
    const { isOver, fail } = setStage(1, 2);
    for (const address of ["10.0.0.1", "10.0.0.2", "10.0.0.3"]) fail(address);
    expect([isOver("10.0.0.1"), isOver("10.0.0.2"), isOver("10.0.0.3")]).toEqual([false, true, true]);
  });

  it("counts together for those whose address is not known, and survives a clock that is set back", () => {
    const { clock, isOver, fail } = setStage(1);
    fail(undefined);
    expect(isOver(undefined)).toBe(true);
    clock.now -= 3_600_000;
    expect(isOver(undefined)).toBe(false);
  });
});
