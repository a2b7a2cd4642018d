/**
 * Pulls a byte source through a decoder. The one place where framing meets time: everything else is synchronous.
 *
 * A failure of the source is thrown on to the consumer after the frames that came before it. When the consumer
 * stops early (break, return, throw), the source is cancelled. A read that is under way is not interrupted:
 * abort the source itself (fetch's signal) for that.
 */
import type { FrameDecoder, FrameOutcome } from "./frame.ts";

/** Yields what each chunk completed, leaving out chunks that completed nothing. */
export async function* readFrames(
  source: AsyncIterable<Uint8Array> | ReadableStream<Uint8Array>,
  decoder: FrameDecoder,
): AsyncGenerator<FrameOutcome[], void, undefined> {
  for await (const chunk of "getReader" in source ? readChunks(source) : source) {
    const batch = decoder.push(chunk);
    if (batch.length > 0) yield batch;
  }
  const rest = decoder.end();
  if (rest.length > 0) yield rest;
}

/** Not the stream's own async iterator: some browsers in use have none, and where it exists it is slower. */
async function* readChunks(stream: ReadableStream<Uint8Array>): AsyncGenerator<Uint8Array, void, undefined> {
  const reader = stream.getReader();
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return;
      yield value;
    }
  } finally {
    try {
      // Harmless after the end, and after a failure it only fails again with the same error.
      await reader.cancel();
    } finally {
      reader.releaseLock();
    }
  }
}
