// Token usage as a step chart.
import { describe, expect, it } from "vitest";
import { drawUsage } from "./calls-view.tsx";

describe("drawUsage", () => {
  it("rises to the total with a bounded number of steps", () => {
    expect(drawUsage([], 10)).toBe("");
    const step = { callId: undefined, prompt: 1, completion: 1, cached: 0, total: 2 };
    expect(
      drawUsage(
        [
          { ...step, frame: 4, sum: 2 },
          { ...step, frame: 9, sum: 4 },
        ],
        10,
      ),
    ).toBe("M0 100H50.00V52.00H100.00V4.00H100V100Z");
    const many = Array.from({ length: 5000 }, (_, i) => ({ ...step, frame: i, sum: (i + 1) * 2 }));
    expect(drawUsage(many, 5000).split("H").length).toBeLessThan(500);
  });
});
