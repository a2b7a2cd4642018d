import { expect, test } from "vitest";
import { computeCost, formatCost, readPrice, setPrice } from "./prices.ts";

const PRICES = { "openai/gpt-5": { input: 1.25, output: 10 }, half: { input: 1 } };

test("computes the cost of a call, or nothing without a price", () => {
  const call = { prompt: 2_000_000, completion: 100_000 };
  expect(computeCost({ ...call, model: "openai/gpt-5" }, PRICES)).toBe(3.5);
  expect(computeCost({ ...call, model: "half" }, PRICES)).toBeUndefined();
  expect(computeCost({ ...call, completion: 0, model: "half" }, PRICES)).toBe(2);
  const withCache = { ...call, cached: 1_500_000, completion: 0, model: "c" };
  expect(computeCost(withCache, { c: { input: 1, cached: 0.1 } })).toBeCloseTo(0.65);
  expect(computeCost(withCache, { c: { input: 1 } })).toBe(2);
  for (const model of ["unknown", "toString", undefined])
    expect(computeCost({ ...call, model }, PRICES)).toBeUndefined();
});

test("formats small and large amounts", () => {
  expect([0, 0.000_012_34, 0.004_56, 0.5, 12.345].map(formatCost)).toEqual([
    "$0.00",
    "$0.0000123",
    "$0.00456",
    "$0.500",
    "$12.35",
  ]);
});

test("reads prices, and refuses other texts", () => {
  expect(["1.5", " 0,25 ", "0", "", "-1", "x", "Infinity"].map(readPrice)).toEqual([
    1.5,
    0.25,
    0,
    undefined,
    undefined,
    undefined,
    undefined,
  ]);
  const added = setPrice({}, "m", "input", 2);
  expect(setPrice(added, "m", "output", 3)).toEqual({ m: { input: 2, output: 3 } });
  expect(setPrice(added, "m", "input", undefined)).toEqual({});
});
