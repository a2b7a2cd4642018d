import { expect, it } from "vitest";
import { selectCases } from "./sampling.ts";

const CASES = Array.from({ length: 100 }, (_, index) => ({ index, kind: `kind ${index % 7}` }));

it("selects some cases of each kind, in their order, and the same ones for the same seed", () => {
  const select = (seed: number) => selectCases(CASES, seed, { perKind: 2, kindOf: ({ kind }) => kind });
  const selected = select(1);
  expect(selected).toEqual(selected.toSorted((a, b) => a.index - b.index));
  const counts = Map.groupBy(selected, ({ kind }) => kind);
  expect([...counts.values()].map(({ length }) => length)).toEqual([2, 2, 2, 2, 2, 2, 2]);
  expect(select(1)).toEqual(selected);
  expect(select(2)).not.toEqual(selected);
});

it("reaches every case with some seed", () => {
  const seeds = Array.from({ length: 1000 }, (_, seed) => seed);
  const reached = new Set(seeds.flatMap((seed) => selectCases(CASES, seed, { perKind: 3 })));
  expect(reached.size).toBe(CASES.length);
});

it("takes everything if there are few cases", () => {
  expect(selectCases(["a", "b"], 1, { perKind: 3 })).toEqual(["a", "b"]);
  expect(selectCases([], 1)).toEqual([]);
});
