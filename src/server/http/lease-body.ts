/** A body that may be read as long as there is leave to: where that ends it breaks off, so that nobody takes it for whole. */
import type { LoomError } from "../../protocol/index.ts";

/** `lease` is called once, and what it gives when the body is over, however. What it throws is thrown, and ends the body. */
export function leaseBody(
  body: ReadableStream<Uint8Array>,
  lease: (onEnd: (why: LoomError) => void) => () => void,
): ReadableStream<Uint8Array> {
  const stop = new AbortController();
  const release = takeLease(body, () => lease((why) => stop.abort(why)));
  const passage = new TransformStream<Uint8Array, Uint8Array>();
  body.pipeTo(passage.writable, { signal: stop.signal }).then(release, release);
  return passage.readable;
}

function takeLease(body: ReadableStream<Uint8Array>, take: () => () => void): () => void {
  try {
    return take();
  } catch (error) {
    void body.cancel(error).catch(() => undefined);
    throw error;
  }
}
