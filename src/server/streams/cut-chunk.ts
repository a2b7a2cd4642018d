/** Creates the parts that one reader gets from its own log read, and truncates chunks to a reader's limits. */
import type { StreamStep } from "../../log/stream.ts";
import type { ChannelPart } from "./stream-channel.ts";
import { Chunk } from "./chunk.ts";
import type { FrameEnd } from "./stream-reader.ts";
import { positionAfterStep, type Position, readPosition } from "./position.ts";

export function createPart(step: StreamStep, after: Position, origin: Chunk["origin"]): ChannelPart {
  const { frames, mayEndRun } = step;
  const chunk = frames.length === 0 ? undefined : new Chunk(origin, frames, mayEndRun);
  return { after, upTo: positionAfterStep(step, after), chunk, mayEndRun };
}

/** Returns the frames up to the one that ends the stream, which `endAt` replaces. Undefined if the stream continues. */
export function endChunk(chunk: Chunk | undefined, endAt: FrameEnd | undefined): Chunk | undefined {
  if (chunk === undefined || endAt === undefined) return undefined;
  const { frames, origin, mayEndRun } = chunk;
  for (const [index, frame] of frames.entries()) {
    const last = endAt(frame);
    if (last !== undefined) return new Chunk(origin, [...frames.slice(0, index), last], mayEndRun);
  }
  return undefined;
}

/** Returns at most `count` frames of the chunk, and only frames of records up to `lastId`. */
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
