/**
 * Holds the first frames of a reader back until the response can be chosen: a stream has only one chance to send a status.
 * Afterwards the frames are delivered as if they had not been held.
 */
import type { Chunk } from "./chunk.ts";
import type { ReaderEnd, Sink, StreamReader } from "./stream-reader.ts";

/**
 * Starts the reader, and resolves to a reader with the same frames as soon as `isDecided` returns true for one of them, the
 * reader ends, or `maxMs` have passed. Rejects with what `isDecided` throws, and with the error of a stream that fails.
 */
export async function holdReader(
  reader: StreamReader,
  { isDecided, maxMs }: { readonly isDecided: (text: string) => boolean; readonly maxMs: number },
): Promise<StreamReader> {
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  const held: Chunk[] = [];
  let sink: Sink | undefined;
  let end: ReaderEnd | undefined;
  const hold = (chunk: Chunk): boolean => {
    held.push(chunk);
    try {
      if (!chunk.frames.some(({ text }) => isDecided(text))) return true;
      resolve();
    } catch (error) {
      reject(error);
      reader.close("end");
    }
    return false;
  };
  const timer = setTimeout(resolve, maxMs);
  reader.start({
    mayWrite: () => sink?.mayWrite?.() ?? true,
    write: (chunk) => (sink === undefined ? hold(chunk) : sink.write(chunk)),
    end(given) {
      if (sink !== undefined) {
        sink.end(given);
        return;
      }
      end = given;
      if (given.reason === "error") reject(given.error);
      resolve();
    },
  });
  try {
    await promise;
  } finally {
    clearTimeout(timer);
  }
  return {
    session: reader.session,
    cursor: reader.cursor,
    resume: () => reader.resume(),
    close: (reason) => reader.close(reason),
    start(given) {
      sink = given;
      const hasRoom = held.splice(0).map((chunk) => given.write(chunk));
      if (end !== undefined) given.end(end);
      else if (hasRoom.at(-1) !== false) reader.resume();
    },
  };
}
