import { describe, expect, it } from "vitest";
import { runSideBySide } from "./side-by-side.ts";

const tick = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

describe("runSideBySide", () => {
  it("gives results in the order of the items, with no more at once than may be", async () => {
    let going = 0;
    let most = 0;
    const results = await runSideBySide([5, 1, 3, 2, 4], 2, async (turns, index) => {
      most = Math.max(most, ++going);
      for (let turn = 0; turn < turns; turn++) await tick();
      going--;
      return `${index}:${turns}`;
    });
    expect(results).toEqual(["0:5", "1:1", "2:3", "3:2", "4:4"]);
    expect(most).toBe(2);
  });

  it("begins nothing after a failure, and throws it when all that was going has ended", async () => {
    const ended: number[] = [];
    const begun: number[] = [];
    const work = runSideBySide([0, 1, 2, 3], 2, async (item) => {
      begun.push(item);
      if (item === 0) throw new Error("first");
      for (let turn = 0; turn < 3; turn++) await tick();
      ended.push(item);
    });
    await expect(work).rejects.toThrow("first");
    expect(begun).toEqual([0, 1]);
    expect(ended).toEqual([1]);
  });

  it("has nothing to do for nothing", async () => {
    expect(await runSideBySide([], 3, async () => 1)).toEqual([]);
  });
});
