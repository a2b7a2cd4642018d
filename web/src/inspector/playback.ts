/**
 * Advances the playback of a run at its original pace, times a speed. Long gaps are shortened. It has no timer itself.
 */

import { useEffect, useLayoutEffect, useRef, useState } from "react";
import type { RunRecording } from "./run-recording.ts";
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

export interface Playback {
  readonly isPlaying: boolean;
  readonly speed: Speed;
  readonly setSpeed: (speed: Speed) => void;
  readonly toggle: () => void;
  readonly stop: () => void;
}

interface PlaybackOptions {
  readonly recording: RunRecording;
  readonly position: number;
  /** More frames may arrive. Playback waits for them at the end. */
  readonly isGrowing: boolean;
  readonly onMove: (position: number) => void;
}

/** After the page was suspended, playback does not jump ahead. */
const MAX_TICK_MS = 100;

/** Plays a run at its original pace until it ends or playback is stopped. */
export function usePlayback({ recording, position, isGrowing, onMove }: PlaybackOptions): Playback {
  const [isPlaying, setPlaying] = useState(false);
  const [speed, setSpeed] = useState<Speed>(1);
  const latest = useRef({ position, isGrowing, onMove });
  useLayoutEffect(() => {
    latest.current = { position, isGrowing, onMove };
  });
  useEffect(() => {
    if (!isPlaying) return undefined;
    let left = 0;
    let before = performance.now();
    const tick = (now: number): void => {
      request = requestAnimationFrame(tick);
      const ms = Math.min(now - before, MAX_TICK_MS) * speed;
      before = now;
      const { position: at } = latest.current;
      const next = advancePlayback((index) => recording.timeAt(index), recording.count, { position: at, left }, ms);
      left = next.left;
      if (next.position !== at) latest.current.onMove(next.position);
      if (next.position >= recording.count && !latest.current.isGrowing) setPlaying(false);
    };
    let request = requestAnimationFrame(tick);
    return () => cancelAnimationFrame(request);
  }, [isPlaying, speed, recording]);
  const toggle = (): void => {
    // At the end, start over.
    if (!isPlaying && position >= recording.count) onMove(0);
    setPlaying(!isPlaying);
  };
  return { isPlaying, speed, setSpeed, toggle, stop: () => setPlaying(false) };
}
