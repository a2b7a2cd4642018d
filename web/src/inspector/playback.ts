/**
 * Where a run that is played has come to: it goes at the pace at which it happened, times a speed, but waits for nobody
 * longer than a moment. It has no clock of its own.
 */

export const SPEEDS = [1, 4, 16] as const;
export type Speed = (typeof SPEEDS)[number];

/** A run that waited for an hour is not watched for one. */
const LONGEST_MS = 1000;
/** Where frames tell no times. */
const STEP_MS = 20;

export interface Progress {
  readonly position: number;
  /** Of the time that was given, what did not suffice for the next frame. */
  readonly left: number;
}

/** `timeAt` gives the time of a frame, from 0; `ms` is the time that passed, speed included. */
export function advancePlayback(
  timeAt: (index: number) => number | undefined,
  count: number,
  { position, left }: Progress,
  ms: number,
): Progress {
  let [at, rest] = [position, left + ms];
  for (; at < count; at++) {
    const [before, next] = [at === 0 ? timeAt(0) : timeAt(at - 1), timeAt(at)];
    const gap = before === undefined || next === undefined ? STEP_MS : next - before;
    const cost = Math.max(0, Math.min(gap, LONGEST_MS));
    if (cost > rest) return { position: at, left: rest };
    rest -= cost;
  }
  return { position: at, left: 0 };
}
