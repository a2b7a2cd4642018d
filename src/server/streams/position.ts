/**
 * Where somebody stands in a session's stream: after so many frames of a record, or after all of it. Those of one stream
 * can be compared.
 *
 * Invariant: a place after the last frame of a record is after all of it (`frame` is infinite), as in cursors. Only what
 * a reader gives may say otherwise, and such a place is never looked up in memory by more than equality.
 */
import { formatCursor, parseCursor, type StreamFrame, type StreamStep } from "../../log/index.ts";

export interface Position {
  readonly eventId: number;
  /** The index of the last frame that was given; infinite for all. */
  readonly frame: number;
}

export function afterRecord(eventId: number): Position {
  return { eventId, frame: Number.POSITIVE_INFINITY };
}

export function readPosition(cursor: string): Position {
  const { eventId, frame = Number.POSITIVE_INFINITY } = parseCursor(cursor);
  return { eventId, frame };
}

export function writePosition(incarnation: string, { eventId, frame }: Position): string {
  return formatCursor(incarnation, eventId, Number.isFinite(frame) ? frame : undefined);
}

/** Below zero where `a` comes before `b`. */
export function comparePositions(a: Position, b: Position): number {
  if (a.eventId !== b.eventId) return a.eventId - b.eventId;
  return a.frame === b.frame ? 0 : a.frame - b.frame;
}

export function isWhole({ frame }: Position): boolean {
  return frame === Number.POSITIVE_INFINITY;
}

/** Where a step has come to; where it says nothing, it has not moved. */
export function findReached({ frames, through }: StreamStep, before: Position): Position {
  if (through !== undefined) return afterRecord(through);
  const last = frames.at(-1);
  return last === undefined ? before : readPosition(last.cursor);
}

/**
 * The index of the first of these frames, which are in order, that comes after the position. Undefined where the
 * position is within a record and none of them is the one it names.
 */
export function findFrameAfter(frames: readonly StreamFrame[], position: Position): number | undefined {
  let [low, high] = [0, frames.length];
  while (low < high) {
    const middle = (low + high) >>> 1;
    const frame = frames[middle];
    if (frame === undefined || comparePositions(readPosition(frame.cursor), position) > 0) high = middle;
    else low = middle + 1;
  }
  if (isWhole(position)) return low;
  const before = frames[low - 1];
  return before !== undefined && comparePositions(readPosition(before.cursor), position) === 0 ? low : undefined;
}
