/** Plays a run at its original pace until it ends or playback is stopped. */
import { useEffect, useLayoutEffect, useRef, useState } from "react";
import { advancePlayback, type Speed } from "./playback.ts";
import type { RunRecording } from "./run-recording.ts";

export interface Playback {
  readonly isPlaying: boolean;
  readonly speed: Speed;
  readonly setSpeed: (speed: Speed) => void;
  readonly toggle: () => void;
  readonly stop: () => void;
}

export interface PlaybackOptions {
  readonly recording: RunRecording;
  readonly position: number;
  /** More frames may arrive. Playback waits for them at the end. */
  readonly isGrowing: boolean;
  readonly onMove: (position: number) => void;
}

/** After the page was suspended, playback does not jump ahead. */
const MAX_TICK_MS = 100;

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
