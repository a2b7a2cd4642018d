import { describe, expect, it } from "vitest";
import { runConcurrently } from "./run-concurrently.ts";

const tick = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

describe("runConcurrently", () => {
  it("returns results in item order and respects the concurrency", async () => {
    let running = 0;
    let most = 0;
    const results = await runConcurrently([5, 1, 3, 2, 4], 2, async (turns, index) => {
      most = Math.max(most, ++running);
      for (let turn = 0; turn < turns; turn++) await tick();
      running--;
      return `${index}:${turns}`;
    });
    expect(results).toEqual(["0:5", "1:1", "2:3", "3:2", "4:4"]);
    expect(most).toBe(2);
  });

  it("starts nothing after a failure, and throws when running work has ended", async () => {
    const ended: number[] = [];
    const begun: number[] = [];
    const work = runConcurrently([0, 1, 2, 3], 2, async (item) => {
      begun.push(item);
      if (item === 0) throw new Error("first");
      for (let turn = 0; turn < 3; turn++) await tick();
      ended.push(item);
    });
    await expect(work).rejects.toThrow("first");
    expect(begun).toEqual([0, 1]);
    expect(ended).toEqual([1]);
  });

  it("accepts an empty list", async () => {
    expect(await runConcurrently([], 3, async () => 1)).toEqual([]);
  });
});
