/**
 * A position in the stream of a session: after some frames of a record, or after the whole record. Positions of the
 * same stream can be compared.
 *
 * Invariant: the position after the last frame of a record is the end of the record (`frame` is infinite), as in
 * cursors. A client may send another value; such a position is only compared for equality.
 */
import type { StreamFrame } from "../../log/index.ts";
import { createCursorFormat, type CursorDialect, encoderVersionOf, parseCursor } from "../../log/cursor.ts";
import type { StreamStep } from "../../log/stream.ts";

export interface Position {
  readonly eventId: number;
  /** The index of the last delivered frame of the record; infinite after the whole record. */
  readonly frame: number;
}

export function afterRecord(eventId: number): Position {
  return { eventId, frame: Number.POSITIVE_INFINITY };
}

export function readPosition(cursor: string): Position {
  const { eventId, frame = Number.POSITIVE_INFINITY } = parseCursor(cursor);
  return { eventId, frame };
}

/** Formats a position in a stream of this dialect as a cursor. */
export function writePosition(incarnation: string, { eventId, frame }: Position, format: CursorDialect): string {
  const formatCursor = createCursorFormat(incarnation, encoderVersionOf(format));
  return formatCursor(eventId, Number.isFinite(frame) ? frame : undefined);
}

/** Negative when `a` is before `b`, zero when they are equal. */
export function comparePositions(a: Position, b: Position): number {
  if (a.eventId !== b.eventId) return a.eventId - b.eventId;
  return a.frame === b.frame ? 0 : a.frame - b.frame;
}

export function isAfterRecord({ frame }: Position): boolean {
  return frame === Number.POSITIVE_INFINITY;
}

/** Returns the position after the step, which is `before` when the step has neither frames nor a record. */
export function positionAfterStep({ frames, through }: StreamStep, before: Position): Position {
  if (through !== undefined) return afterRecord(through);
  const last = frames.at(-1);
  return last === undefined ? before : readPosition(last.cursor);
}

/**
 * Returns the index of the first frame after the position. The frames must be in order. Returns undefined when the
 * position is inside a record and its frame is not in the list.
 */
export function findFrameAfter(frames: readonly StreamFrame[], position: Position): number | undefined {
  let [low, high] = [0, frames.length];
  while (low < high) {
    const middle = (low + high) >>> 1;
    const frame = frames[middle];
    if (frame === undefined || comparePositions(readPosition(frame.cursor), position) > 0) high = middle;
    else low = middle + 1;
  }
  if (isAfterRecord(position)) return low;
  const before = frames[low - 1];
  return before !== undefined && comparePositions(readPosition(before.cursor), position) === 0 ? low : undefined;
}
