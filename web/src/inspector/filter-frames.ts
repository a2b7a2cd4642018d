/** Filters frames by type, element and text. */
import type { ElementTarget } from "../../../src/react/page-parts.ts";

export interface FrameFilter {
  /** Empty: all types. */
  readonly type: string;
  /** Matched anywhere in the frame, ignoring case. Empty: all frames. */
  readonly text: string;
  readonly target?: ElementTarget | undefined;
}

export interface ListedFrame {
  readonly text: string;
  readonly type: string;
  readonly target?: ElementTarget | undefined;
}

export const NO_FILTER: FrameFilter = { type: "", text: "" };

export function isFiltering({ type, text, target }: FrameFilter): boolean {
  return type !== "" || text.trim() !== "" || target !== undefined;
}

/**
 * Returns the indices of matching frames in order. `found` are the matches among the first `done` frames, which are not
 * tested again.
 */
export function filterFrames(
  frameAt: (index: number) => ListedFrame | undefined,
  count: number,
  filter: FrameFilter,
  found: readonly number[] = [],
  done = 0,
): number[] {
  const passes = createTest(filter);
  const indices = [...found];
  for (let i = done; i < count; i++) {
    const frame = frameAt(i);
    if (frame !== undefined && passes(frame)) indices.push(i);
  }
  return indices;
}

/** Counts the frames of each type, most frequent first. */
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

function createTest({ type, text, target }: FrameFilter): (frame: ListedFrame) => boolean {
  const wanted = text.trim().toLowerCase();
  return (frame) =>
    (type === "" || frame.type === type) &&
    (target === undefined || (frame.target?.kind === target.kind && frame.target.key === target.key)) &&
    (wanted === "" || frame.text.toLowerCase().includes(wanted));
}
