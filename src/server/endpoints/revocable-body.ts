/** A response body that breaks off when access ends, so that the client does not take it for complete. */
import type { LoomError } from "../../protocol/index.ts";

/**
 * Calls `watch` once, and the function it returns when the body ends for any reason. If `watch` throws, the body is
 * cancelled and the error is rethrown.
 */
export function createRevocableBody(
  body: ReadableStream<Uint8Array>,
  watch: (onEnd: (reason: LoomError) => void) => () => void,
): ReadableStream<Uint8Array> {
  const stop = new AbortController();
  const release = startWatching(body, () => watch((reason) => stop.abort(reason)));
  const relay = new TransformStream<Uint8Array, Uint8Array>();
  body.pipeTo(relay.writable, { signal: stop.signal }).then(release, release);
  return relay.readable;
}

function startWatching(body: ReadableStream<Uint8Array>, start: () => () => void): () => void {
  try {
    return start();
  } catch (error) {
    void body.cancel(error).catch(() => undefined);
    throw error;
  }
}
