/**
 * A stream as the body of a web Response, for servers that are not Node's, and for answers that somebody rewrites on
 * their way. The bytes are those all readers share.
 *
 * Invariant: it holds `maxOutboundBytes` and one chunk, at most, that nobody has taken.
 */
import type { Chunk } from "../streams/chunk.ts";
import type { Reader, ReaderEnd, Sink } from "../streams/reader.ts";
import { type StreamFraming, writeEnd } from "./stream-framing.ts";

export interface BodySinkOptions {
  readonly framing: StreamFraming;
  readonly heartbeatMs: number;
  readonly maxOutboundBytes: number;
}

export function createBody(reader: Reader, options: BodySinkOptions): ReadableStream<Uint8Array> {
  const { framing, heartbeatMs, maxOutboundBytes } = options;
  const encoder = new TextEncoder();
  let timer: NodeJS.Timeout | undefined;
  let isAlive = true;
  const start = (controller: ReadableStreamDefaultController<Uint8Array>): void => {
    const hasRoom = (): boolean => (controller.desiredSize ?? 0) > 0;
    const sink: Sink = {
      write(chunk: Chunk) {
        isAlive = true;
        controller.enqueue(chunk.bytes(framing.form));
        return hasRoom();
      },
      end(end: ReaderEnd) {
        clearInterval(timer);
        const last = writeEnd(framing, end);
        if (end.reason === "left") closeQuietly(controller);
        else if (last === undefined) controller.error(end.error ?? new Error("the stream was broken off"));
        else {
          if (last !== "") controller.enqueue(encoder.encode(last));
          controller.close();
        }
      },
    };
    if (heartbeatMs > 0)
      timer = setInterval(() => {
        // Only where the reader has taken everything: a slow one needs no sign of life.
        const isNeeded = !isAlive && controller.desiredSize === maxOutboundBytes;
        isAlive = isNeeded;
        if (isNeeded) controller.enqueue(encoder.encode(framing.heartbeat));
      }, heartbeatMs / 2).unref();
    reader.start(sink);
  };
  return new ReadableStream<Uint8Array>(
    { start, pull: () => reader.resume(), cancel: () => reader.close() },
    { highWaterMark: maxOutboundBytes, size: ({ length }) => length },
  );
}

/** Whoever has left may have closed it already. */
function closeQuietly(controller: ReadableStreamDefaultController<Uint8Array>): void {
  try {
    controller.close();
  } catch {
    // It is closed.
  }
}
