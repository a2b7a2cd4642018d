/** Which frames are listed: those of a type, of an element, and with a text in them. */
import type { ElementPlace } from "loom-agent/react";

export interface FrameFilter {
  /** Empty for all. */
  readonly type: string;
  /** Anywhere in the frame, in whatever case; empty for all. */
  readonly text: string;
  readonly place?: ElementPlace | undefined;
}

export interface ListedFrame {
  readonly text: string;
  readonly type: string;
  readonly place?: ElementPlace | undefined;
}

export const NO_FILTER: FrameFilter = { type: "", text: "" };

export function isFiltering({ type, text, place }: FrameFilter): boolean {
  return type !== "" || text.trim() !== "" || place !== undefined;
}

/**
 * The places of the frames that pass, in order. What was found before among the first `done` frames by the same filter
 * is not looked at again.
 */
export function filterFrames(
  frameAt: (index: number) => ListedFrame | undefined,
  count: number,
  filter: FrameFilter,
  found: readonly number[] = [],
  done = 0,
): number[] {
  const passes = createTest(filter);
  const places = [...found];
  for (let i = done; i < count; i++) {
    const frame = frameAt(i);
    if (frame !== undefined && passes(frame)) places.push(i);
  }
  return places;
}

/** How many there are of each type, the most frequent first. */
export function countTypes(
  frameAt: (index: number) => ListedFrame | undefined,
  count: number,
): readonly (readonly [type: string, count: number])[] {
  const counts = new Map<string, number>();
  for (let i = 0; i < count; i++) {
    const { type } = frameAt(i) ?? { type: "" };
    counts.set(type, (counts.get(type) ?? 0) + 1);
  }
  return [...counts].sort(([a, m], [b, n]) => n - m || (a < b ? -1 : 1));
}

function createTest({ type, text, place }: FrameFilter): (frame: ListedFrame) => boolean {
  const wanted = text.trim().toLowerCase();
  return (frame) =>
    (type === "" || frame.type === type) &&
    (place === undefined || (frame.place?.kind === place.kind && frame.place.key === place.key)) &&
    (wanted === "" || frame.text.toLowerCase().includes(wanted));
}
