/**
 * Advances the playback of a run at its original pace, times a speed. Long gaps are shortened. It has no timer itself.
 */

export const SPEEDS = [1, 4, 16] as const;
export type Speed = (typeof SPEEDS)[number];

/** Longest wait between two frames. */
const MAX_GAP_MS = 1000;
/** Wait between frames without timestamps. */
const STEP_MS = 20;

export interface PlaybackProgress {
  readonly position: number;
  /** Time not yet used for the next frame, in milliseconds. */
  readonly left: number;
}

/** `timeAt` returns the time of a frame; `ms` is the elapsed time multiplied by the speed. */
export function advancePlayback(
  timeAt: (index: number) => number | undefined,
  count: number,
  { position, left }: PlaybackProgress,
  ms: number,
): PlaybackProgress {
  let [at, rest] = [position, left + ms];
  for (; at < count; at++) {
    const [before, next] = [at === 0 ? timeAt(0) : timeAt(at - 1), timeAt(at)];
    const gap = before === undefined || next === undefined ? STEP_MS : next - before;
    const cost = Math.max(0, Math.min(gap, MAX_GAP_MS));
    if (cost > rest) return { position: at, left: rest };
    rest -= cost;
  }
  return { position: at, left: 0 };
}
