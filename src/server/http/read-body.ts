/**
 * The bytes of a body as they come, no faster than they are asked for. It knows no frame. Whatever ends it early is
 * thrown as one of a few codes, and the source is let go of: what was under way is read for a moment and thrown away, so
 * that the connection can be used again, and a sender that has sent all of it reads the answer.
 */
import { LoomError } from "../../protocol/index.ts";

/** What is thrown away, at most, of a body that was refused. */
const REST_MS = 400;
const REST_BYTES = 64 * 1024 * 1024;

export interface BodyLimits {
  /** Bytes of the whole body. Code `body_too_large`. */
  readonly maxBytes: number;
  /** How long nothing may come; 0: as long as it takes. Code `request_timeout`. */
  readonly idleMs: number;
}

/** A source that fails, or whose sender is gone, was cut: `stream_cut`. What `signal` is aborted with is thrown as it is. */
export async function* readBody(
  body: ReadableStream<Uint8Array>,
  { maxBytes, idleMs }: BodyLimits,
  signal: AbortSignal,
): AsyncGenerator<Uint8Array, void, undefined> {
  const reader = body.getReader();
  const idle = watchIdle(idleMs);
  let bytes = 0;
  let isWhole = false;
  try {
    for (;;) {
      const { done, value } = await idle.during(readNext(reader, signal));
      isWhole = done;
      if (done) return;
      bytes += value.byteLength;
      if (bytes > maxBytes)
        throw new LoomError("body_too_large", `a body may have ${maxBytes} bytes`, { limit: maxBytes });
      yield value;
    }
  } finally {
    // Not waited for: a source that does not answer must not keep whoever reads it.
    if (!isWhole) void discardRest(reader, signal);
  }
}

/** Throws away what is still to come of a body nobody wants any more, for a moment. Never rejects. */
export async function discardRest(reader: ReadableStreamDefaultReader<Uint8Array>, signal: AbortSignal): Promise<void> {
  const timer = setTimeout(() => void reader.cancel().catch(() => undefined), REST_MS);
  timer.unref();
  try {
    for (let bytes = 0; bytes < REST_BYTES && !signal.aborted;) {
      const { done, value } = await reader.read();
      if (done) return;
      bytes += value.byteLength;
    }
    await reader.cancel();
  } catch {
    // The sender is gone.
  } finally {
    clearTimeout(timer);
  }
}

function readNext(
  reader: ReadableStreamDefaultReader<Uint8Array>,
  signal: AbortSignal,
): Promise<ReadableStreamReadResult<Uint8Array>> {
  const { promise, resolve, reject } = Promise.withResolvers<ReadableStreamReadResult<Uint8Array>>();
  const onAbort = () => reject(signal.reason);
  if (signal.aborted) onAbort();
  else signal.addEventListener("abort", onAbort, { once: true });
  reader.read().then(resolve, (cause: unknown) => reject(streamCut(cause)));
  return promise.finally(() => signal.removeEventListener("abort", onAbort));
}

export function streamCut(cause?: unknown): LoomError {
  return new LoomError("stream_cut", "the stream ended while a run was going", {}, { cause });
}

/** Only waiting for the sender counts: how long the log takes is not the sender's fault. */
function watchIdle(idleMs: number): { during<T>(work: Promise<T>): Promise<T> } {
  if (idleMs === 0) return { during: (work) => work };
  return {
    during<T>(work: Promise<T>): Promise<T> {
      const { promise, resolve, reject } = Promise.withResolvers<T>();
      const timer = setTimeout(() => {
        reject(new LoomError("request_timeout", `nothing came for ${idleMs} ms`, { limit: idleMs }));
      }, idleMs);
      work.then(resolve, reject);
      return promise.finally(() => clearTimeout(timer));
    },
  };
}
