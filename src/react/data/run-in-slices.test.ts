import { afterAll, expect, it, vi } from "vitest";
import { computeInSlices, type SlicedTask } from "./run-in-slices.ts";

let now = 0;
const clock = vi.spyOn(performance, "now").mockImplementation(() => now);
afterAll(() => clock.mockRestore());

function* work(steps: number, milliseconds: number, done: number[]): SlicedTask<string> {
  for (let step = 0; step < steps; step++) {
    now += milliseconds;
    done.push(step);
    yield;
  }
  return "made";
}

it("returns the result of short work synchronously", () => {
  expect(computeInSlices(work(3, 0, []))).toBe("made");
});

it("runs long work in slices and yields in between", async () => {
  const done: number[] = [];
  const seen: number[] = [];
  const other = setInterval(() => seen.push(done.length), 0);
  const made = computeInSlices(work(20, 2, done));
  // A slice takes 8 ms.
  expect(done).toHaveLength(4);
  expect(await made).toBe("made");
  clearInterval(other);
  expect(done).toHaveLength(20);
  expect(seen.filter((count) => count < 20).length).toBeGreaterThan(0);
});
