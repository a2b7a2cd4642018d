/**
 * Reads the bytes of a request body with backpressure. An error or early end is thrown as one of a few codes; the rest
 * of the body is then read briefly and discarded, so that the connection can be reused and the sender can read the
 * response.
 */
import { LoomError } from "../../protocol/index.ts";
import { untilAborted } from "../../protocol/until-aborted.ts";

/** Limits for discarding the rest of a rejected body. */
const REST_MS = 400;
const REST_BYTES = 64 * 1024 * 1024;

export interface BodyLimits {
  /** Bytes of the whole body. */
  readonly maxBytes: number;
  /** The error of a larger body. Default: `body_too_large`. */
  readonly tooLarge?: (maxBytes: number) => LoomError;
  /** Longest time without data, in milliseconds; 0 for no limit. Code `request_timeout`. */
  readonly idleMs: number;
  /** Longest total time of waiting for the sender, in milliseconds. Default: no limit. Code `request_timeout`. */
  readonly totalMs?: number;
}

/** Throws `stream_cut` if the source fails or its sender disconnects. The reason of `signal` is thrown unchanged. */
export async function* readBody(
  body: ReadableStream<Uint8Array>,
  { maxBytes, tooLarge = bodyTooLarge, idleMs, totalMs = Infinity }: BodyLimits,
  signal: AbortSignal,
): AsyncGenerator<Uint8Array, void, undefined> {
  const reader = body.getReader();
  const sender = watchSender(idleMs === 0 ? Infinity : idleMs, totalMs);
  let bytes = 0;
  let isWhole = false;
  try {
    for (;;) {
      const { done, value } = await sender.during(readNext(reader, signal));
      isWhole = done;
      if (done) return;
      bytes += value.byteLength;
      if (bytes > maxBytes) throw tooLarge(maxBytes);
      yield value;
    }
  } finally {
    // Not awaited: the source may hang.
    if (!isWhole) void discardRest(reader, signal);
  }
}

/** Reads and discards the rest of a body, within a time and size limit. Never rejects. */
async function discardRest(reader: ReadableStreamDefaultReader<Uint8Array>, signal: AbortSignal): Promise<void> {
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
    // The sender has disconnected.
  } finally {
    clearTimeout(timer);
  }
}

function readNext(
  reader: ReadableStreamDefaultReader<Uint8Array>,
  signal: AbortSignal,
): Promise<ReadableStreamReadResult<Uint8Array>> {
  const next = reader.read().catch((cause: unknown) => {
    throw streamCut(cause);
  });
  return untilAborted(next, signal);
}

function bodyTooLarge(limit: number): LoomError {
  return new LoomError("body_too_large", `The body can have at most ${limit} bytes`, { limit });
}

export function streamCut(cause?: unknown): LoomError {
  return new LoomError("stream_cut", "The stream ended before its run ended", {}, { cause });
}

/** Counts only the time spent waiting for the sender, not the time the log or the disk needs. */
function watchSender(idleMs: number, totalMs: number): { during<T>(work: Promise<T>): Promise<T> } {
  if (idleMs === Infinity && totalMs === Infinity) return { during: (work) => work };
  let waitedMs = 0;
  return {
    during<T>(work: Promise<T>): Promise<T> {
      const { promise, resolve, reject } = Promise.withResolvers<T>();
      const leftMs = totalMs - waitedMs;
      const begunAt = performance.now();
      const timer = setTimeout(
        () => {
          const message =
            leftMs < idleMs ? `The body did not arrive within ${totalMs} ms` : `No data received for ${idleMs} ms`;
          reject(new LoomError("request_timeout", message, { limit: leftMs < idleMs ? totalMs : idleMs }));
        },
        Math.max(0, Math.min(idleMs, leftMs)),
      );
      work.then(resolve, reject);
      return promise.finally(() => {
        clearTimeout(timer);
        waitedMs += performance.now() - begunAt;
      });
    },
  };
}
