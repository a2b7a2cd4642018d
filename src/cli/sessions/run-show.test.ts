import { expect, test } from "vitest";
import { createPacer } from "./run-show.ts";

test("pauses as long as it took, divided by the speed, but not for long", async () => {
  const { signal } = new AbortController();
  const times = [1000, 1400, undefined, 1300, 1500, 60_000];
  const replay = async (speed: number): Promise<readonly number[]> => {
    const pauses: number[] = [];
    const wait = createPacer(speed, async (ms) => pauses.push(ms));
    for (const time of times) expect(await wait(time, signal)).toBe(true);
    return pauses;
  };
  // Frames without a time, and those before an earlier one, are shown at once.
  expect(await replay(1)).toEqual([400, 200, 3000]);
  expect(await replay(4)).toEqual([100, 50, 3000]);
  expect(await replay(Number.POSITIVE_INFINITY)).toEqual([]);
  const stopped = createPacer(1);
  expect(await stopped(1, AbortSignal.abort())).toBe(false);
});
