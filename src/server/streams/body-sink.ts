/**
 * Sends a stream as the body of a web `Response`, for servers other than Node's and for responses that middleware
 * rewrites. All readers share the encoded bytes.
 *
 * Invariant: buffers at most `maxOutboundBytes` plus one chunk.
 */
import type { Chunk } from "./chunk.ts";
import type { StreamReader, ReaderEnd, Sink } from "./stream-reader.ts";
import { type StreamFraming, writeEnd } from "./stream-framing.ts";

export interface BodySinkOptions {
  readonly framing: StreamFraming;
  readonly heartbeatMs: number;
  readonly maxOutboundBytes: number;
}

export function createBody(reader: StreamReader, options: BodySinkOptions): ReadableStream<Uint8Array> {
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
        else if (last === undefined) controller.error(end.error ?? new Error("The stream was interrupted"));
        else {
          if (last !== "") controller.enqueue(encoder.encode(last));
          controller.close();
        }
      },
    };
    if (heartbeatMs > 0)
      timer = setInterval(() => {
        // Only if the client has read everything: a slow client does not need a heartbeat.
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

/** The stream may already be closed after the client disconnected. */
function closeQuietly(controller: ReadableStreamDefaultController<Uint8Array>): void {
  try {
    controller.close();
  } catch {
    // Already closed.
  }
}
