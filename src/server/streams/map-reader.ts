/**
 * Changes the frames of a reader on their way to its sink, and can end the stream before the reader would. For endpoints
 * whose clients expect less, or more, than the frames of a dialect.
 */
import type { StreamFrame } from "../../log/index.ts";
import { Chunk } from "./chunk.ts";
import type { StreamReader } from "./stream-reader.ts";

/** Returns the frames to send instead, which may be the same list. With `isLast` the stream ends after them. */
export type MapFrames = (frames: readonly StreamFrame[]) => {
  readonly frames: readonly StreamFrame[];
  readonly isLast: boolean;
};

export function mapReader(reader: StreamReader, mapFrames: MapFrames): StreamReader {
  return {
    session: reader.session,
    cursor: reader.cursor,
    resume: () => reader.resume(),
    close: (reason) => reader.close(reason),
    start(sink) {
      reader.start({
        ...(sink.mayWrite === undefined ? {} : { mayWrite: () => sink.mayWrite?.() ?? true }),
        write(chunk) {
          const { frames, isLast } = mapFrames(chunk.frames);
          const isSame = frames === chunk.frames;
          const hasRoom =
            frames.length === 0 || sink.write(isSame ? chunk : new Chunk(chunk.origin, frames, chunk.mayEndRun));
          if (isLast) reader.close("end");
          return hasRoom;
        },
        end: (end) => sink.end(end),
      });
    },
  };
}
