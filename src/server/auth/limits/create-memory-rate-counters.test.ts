import { describe, expect, it } from "vitest";
import { createMemoryRateCounters } from "./create-memory-rate-counters.ts";
import { testRateCounters } from "../../../../test/contracts/rate-counters.ts";

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
