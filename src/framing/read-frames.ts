/**
 * Reads frames from a byte source.
 *
 * If the source fails, the frames before the failure are yielded first, then the error is thrown. If the consumer stops
 * early (break, return or throw), the source is cancelled. A pending read is not interrupted: abort the source for
 * that, for example with the signal of `fetch`.
 */
import type { FrameDecoder, FrameOutcome } from "./frame.ts";

/**
 * Reads a stream of bytes. Yields the frames that each chunk completed, and at the end those that are left; chunks that
 * complete no frame are skipped. Throws what the source throws.
 *
 * ```ts
 * for await (const frames of readFrames(response.body, createSseDecoder()))
 *   for (const frame of frames) if (frame.ok) console.log(frame.text);
 * ```
 */
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

/** Replaces the stream's own async iterator, which is missing in some browsers and slower in others. */
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
      // Has no effect after the end; after a failure it fails again with the same error.
      await reader.cancel();
    } finally {
      reader.releaseLock();
    }
  }
}
