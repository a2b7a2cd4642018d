/** Parts of a stream as one reader sees them: of its own reading, and no longer than it asked for. */
import type { StreamStep } from "../../log/index.ts";
import type { Part } from "./channel.ts";
import { Chunk } from "./chunk.ts";
import { findReached, type Position, readPosition } from "./position.ts";

export function toPart(step: StreamStep, after: Position, origin: Chunk["origin"]): Part {
  const { frames, mayEndRun } = step;
  const chunk = frames.length === 0 ? undefined : new Chunk(origin, frames, mayEndRun);
  return { after, upTo: findReached(step, after), chunk, mayEndRun };
}

/** So many of its frames, of records up to this one. */
export function cutChunk(
  chunk: Chunk | undefined,
  count: number,
  lastId = Number.POSITIVE_INFINITY,
): Chunk | undefined {
  if (chunk === undefined) return undefined;
  const { frames, origin, mayEndRun } = chunk;
  let length = Math.min(frames.length, count);
  if (Number.isFinite(lastId))
    while (length > 0 && readPosition(frames[length - 1]?.cursor ?? "").eventId > lastId) length--;
  if (length === frames.length) return chunk;
  return length === 0 ? undefined : new Chunk(origin, frames.slice(0, length), mayEndRun);
}
