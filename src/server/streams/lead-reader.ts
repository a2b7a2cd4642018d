/** Sends frames before those of a reader. They have no cursor: a client that resumes does not receive them again. */
import { Chunk, type ChunkOrigin } from "./chunk.ts";
import type { Sink, StreamReader } from "./stream-reader.ts";

export function leadReader(
  reader: StreamReader,
  texts: readonly string[],
  dialect: ChunkOrigin["dialect"],
): StreamReader {
  if (texts.length === 0) return reader;
  const { session, cursor } = reader;
  let waiting: Sink | undefined;
  return {
    session,
    cursor,
    start(sink) {
      const frames = texts.map((text) => ({ text, cursor: "" }));
      if (sink.write(new Chunk({ session: session.sessionId, dialect }, frames, false))) reader.start(sink);
      else waiting = sink;
    },
    resume() {
      const sink = waiting;
      waiting = undefined;
      if (sink === undefined) reader.resume();
      else reader.start(sink);
    },
    close: (reason) => reader.close(reason),
  };
}
