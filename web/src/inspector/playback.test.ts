// Position during playback.
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { advancePlayback, type PlaybackProgress } from "./playback.ts";

describe("advancePlayback", () => {
  const times = [0, 10, 20, 5000, 5010];
  const play = (from: PlaybackProgress, ms: number): PlaybackProgress =>
    advancePlayback((index) => times[index], times.length, from, ms);

  it("keeps the original pace and waits at most one second", () => {
    expect(play({ position: 0, left: 0 }, 0)).toEqual({ position: 1, left: 0 });
    expect(play({ position: 1, left: 0 }, 15)).toEqual({ position: 2, left: 5 });
    expect(play({ position: 2, left: 5 }, 5)).toEqual({ position: 3, left: 0 });
    expect(play({ position: 3, left: 0 }, 999)).toEqual({ position: 3, left: 999 });
    expect(play({ position: 3, left: 999 }, 1)).toEqual({ position: 4, left: 0 });
    expect(play({ position: 4, left: 0 }, 1e6)).toEqual({ position: 5, left: 0 });
  });

  it("ends at the same position in many small steps as in one", () => {
    fc.assert(
      fc.property(fc.array(fc.nat(60), { maxLength: 40 }), (steps) => {
        let at: PlaybackProgress = { position: 0, left: 0 };
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
