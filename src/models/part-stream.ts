/**
 * Turns an iterator of parts into a model stream, for models that run in this process. The iterator can pause by
 * yielding a promise. An abort ends the stream with the signal's reason, like a lost connection.
 */
import type { StreamPart } from "./stream-part.ts";

/** Yields parts, and promises to wait for. */
export type PartSource = Iterator<StreamPart | PromiseLike<unknown>, void, undefined>;

/** Parts that are created before they are read. */
const BUFFERED_PARTS = 64;

export function createPartStream(source: PartSource, signal?: AbortSignal): ReadableStream<StreamPart> {
  let isOver = false;
  let stop = (): void => undefined;
  const end = (): void => {
    isOver = true;
    signal?.removeEventListener("abort", stop);
    source.return?.();
  };
  return new ReadableStream<StreamPart>(
    {
      start(controller) {
        stop = () => {
          end();
          controller.error(signal?.reason);
        };
        if (signal?.aborted === true) stop();
        else signal?.addEventListener("abort", stop);
      },
      async pull(controller) {
        try {
          while ((controller.desiredSize ?? 0) > 0) {
            const { done = false, value } = source.next();
            if (done || value === undefined) {
              end();
              controller.close();
              return;
            }
            if ("then" in value) await value;
            else controller.enqueue(value);
          }
        } catch (error) {
          if (isOver) return;
          end();
          controller.error(error);
        }
      },
      cancel: end,
    },
    { highWaterMark: BUFFERED_PARTS },
  );
}

/** Waits until the signal aborts: simulates a provider that stops sending. */
export async function waitForAbort(signal: AbortSignal | undefined): Promise<void> {
  await new Promise<void>((resolve) => signal?.addEventListener("abort", () => resolve(), { once: true }));
}
