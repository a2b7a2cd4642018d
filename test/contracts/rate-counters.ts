// Tests that all rate counters must pass.
import fc from "fast-check";
import { expect, it } from "vitest";
import type { RateCounters } from "../../src/server/auth/limits/rates.ts";

const MINUTE_MS = 60_000;

export interface RateClock {
  now: number;
}

/** `open` creates counters that are empty and use the clock. */
export function testRateCounters(open: (clock: RateClock) => Promise<RateCounters>, numRuns: number): void {
  const create = async () => {
    const clock: RateClock = { now: 1_000_000 };
    const counters = await open(clock);
    const flood = async (key: string, limit: number, times: number): Promise<number> => {
      const waits = await Promise.all(Array.from({ length: times }, () => counters.take(key, limit)));
      return waits.filter((waitMs) => waitMs === 0).length;
    };
    return { clock, counters, flood };
  };

  it("take the limit per minute, however many requests come at once, and report when to retry", async () => {
    const { clock, counters, flood } = await create();
    expect(await flood("a", 60, 100)).toBe(60);
    expect(await flood("b", 60, 10)).toBe(10);
    expect(await counters.take("a", 60)).toBe(1000);
    clock.now += 999;
    expect(await flood("a", 60, 10)).toBe(0);
    clock.now += 1;
    expect(await flood("a", 60, 10)).toBe(1);
    clock.now += 10 * MINUTE_MS;
    expect(await flood("a", 60, 100)).toBe(60);
    expect(await counters.take("none", 0)).toBe(MINUTE_MS);
  });

  it("never give more than the bucket holds, and keep the promised retry time", async () => {
    const step = fc.record({ waitMs: fc.nat(5000), times: fc.nat(8) });
    await fc.assert(
      fc.asyncProperty(
        fc.array(step, { maxLength: 30 }),
        fc.integer({ min: 1, max: 40 }),
        fc.uuid(),
        async (steps, limit, key) => {
          const { clock, counters, flood } = await create();
          const began = clock.now;
          let taken = 0;
          for (const { waitMs, times } of steps) {
            clock.now += waitMs;
            taken += await flood(key, limit, times);
            expect(taken).toBeLessThanOrEqual(limit + Math.floor(((clock.now - began) * limit) / MINUTE_MS + 1e-6));
          }
          let waitMs = 0;
          while (waitMs === 0) waitMs = await counters.take(key, limit);
          clock.now += waitMs;
          expect(await counters.take(key, limit)).toBe(0);
        },
      ),
      { numRuns },
    );
  });

  it("do not refill a bucket when the clock is set back", async () => {
    const { clock, flood } = await create();
    expect(await flood("a", 2, 5)).toBe(2);
    clock.now -= 900_000;
    expect(await flood("a", 2, 5)).toBe(0);
    clock.now += 30_000;
    expect(await flood("a", 2, 5)).toBe(1);
  });

  it("count events for a minute from the first one", async () => {
    const { clock, counters } = await create();
    expect(await Promise.all([1, 2].map(() => counters.count("a", 3)))).toEqual([0, 0]);
    clock.now += 10_000;
    const waits = await Promise.all([1, 2, 3].map(() => counters.count("a", 3)));
    expect(waits.toSorted((one, other) => one - other)).toEqual([0, 50_000, 50_000]);
    expect(await counters.count("b", 3)).toBe(0);
    // The same key in a bucket is another one.
    expect(await counters.take("a", 1)).toBe(0);
    clock.now += 50_000;
    expect(await counters.count("a", 3)).toBe(0);
    clock.now -= 3_600_000;
    expect(await counters.count("a", 1)).toBe(0);
  });
}
