// Where a run that is played has come to.
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { advancePlayback, type Progress } from "./playback.ts";

describe("playing", () => {
  const times = [0, 10, 20, 5000, 5010];
  const play = (from: Progress, ms: number): Progress =>
    advancePlayback((index) => times[index], times.length, from, ms);

  it("goes at the pace it happened, and waits a second at most", () => {
    expect(play({ position: 0, left: 0 }, 0)).toEqual({ position: 1, left: 0 });
    expect(play({ position: 1, left: 0 }, 15)).toEqual({ position: 2, left: 5 });
    expect(play({ position: 2, left: 5 }, 5)).toEqual({ position: 3, left: 0 });
    expect(play({ position: 3, left: 0 }, 999)).toEqual({ position: 3, left: 999 });
    expect(play({ position: 3, left: 999 }, 1)).toEqual({ position: 4, left: 0 });
    expect(play({ position: 4, left: 0 }, 1e6)).toEqual({ position: 5, left: 0 });
  });

  it("comes to the same in many small steps as in one", () => {
    fc.assert(
      fc.property(fc.array(fc.nat(60), { maxLength: 40 }), (steps) => {
        let at: Progress = { position: 0, left: 0 };
        for (const ms of steps) at = play(at, ms);
        const once = play(
          { position: 0, left: 0 },
          steps.reduce((sum, ms) => sum + ms, 0),
        );
        if (steps.length > 0) expect(at).toEqual(once);
      }),
    );
  });
});
