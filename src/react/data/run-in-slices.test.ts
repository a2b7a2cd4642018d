// Long work leaves room for other work; short work is done at once.
import { expect, it } from "vitest";
import { makeInSlices, type Steps } from "./run-in-slices.ts";

function* work(steps: number, milliseconds: number, done: number[]): Steps<string> {
  for (let step = 0; step < steps; step++) {
    for (const end = performance.now() + milliseconds; performance.now() < end;);
    done.push(step);
    yield;
  }
  return "made";
}

it("makes what is short at once", () => {
  expect(makeInSlices(work(3, 0, []))).toBe("made");
});

it("makes what is long in slices, between which others have their turn", async () => {
  const done: number[] = [];
  const seen: number[] = [];
  const other = setInterval(() => seen.push(done.length), 0);
  const made = makeInSlices(work(20, 2, done));
  expect(done.length).toBeLessThan(6);
  expect(await made).toBe("made");
  clearInterval(other);
  expect(done).toHaveLength(20);
  expect(seen.filter((count) => count < 20).length).toBeGreaterThan(0);
});
