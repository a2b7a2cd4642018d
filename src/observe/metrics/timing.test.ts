import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { MAX_ELAPSED_MS } from "./run-meter.ts";
import { Timing } from "./timing.ts";

function timeAll(values: readonly number[]): Timing {
  const timing = new Timing();
  for (const value of values) timing.add(value);
  return timing;
}

const elapsed = fc.oneof(
  fc.double({ min: 0, max: 10_000, noNaN: true }),
  fc.nat({ max: 1000 }),
  fc.constantFrom(0, 0.0004, MAX_ELAPSED_MS),
);

describe("Timing", () => {
  it("is zero without values", () => {
    const zero = { count: 0, sumMs: 0, minMs: 0, maxMs: 0, meanMs: 0, p50Ms: 0, p95Ms: 0, p99Ms: 0 };
    expect(new Timing().summarize()).toEqual(zero);
  });

  it("summarizes values", () => {
    expect(timeAll([1, 2, 3, 10]).summarize()).toMatchObject({ count: 4, sumMs: 16, minMs: 1, maxMs: 10, meanMs: 4 });
    expect(timeAll([7]).summarize()).toMatchObject({ p50Ms: 7, p95Ms: 7, p99Ms: 7 });
  });

  it("has percentiles that are at most 5 % off", () => {
    fc.assert(
      fc.property(fc.array(elapsed, { minLength: 1, maxLength: 300 }), (values) => {
        const sorted = values.toSorted((a, b) => a - b);
        const { p50Ms, p95Ms, p99Ms } = timeAll(values).summarize();
        for (const [share, summary] of [
          [0.5, p50Ms],
          [0.95, p95Ms],
          [0.99, p99Ms],
        ] as const) {
          const exact = sorted[Math.ceil(share * sorted.length) - 1] as number;
          // Times are stored in microseconds.
          expect(Math.abs(summary - exact)).toBeLessThanOrEqual(0.05 * exact + 0.002);
        }
      }),
    );
  });

  it("merges to the same result in any grouping", () => {
    const lists = fc.array(fc.array(elapsed, { maxLength: 20 }), { maxLength: 5 });
    fc.assert(
      fc.property(lists, (parts) => {
        const merged = parts.map(timeAll).reduceRight((sum, part) => {
          part.merge(sum);
          return part;
        }, new Timing());
        expect(merged.summarize()).toEqual(timeAll(parts.flat()).summarize());
      }),
    );
  });
});
