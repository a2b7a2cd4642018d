/**
 * Plays parts as the stream of a model that is not there: for models that answer by themselves. What plays may wait, by
 * giving a promise in between. An abort ends the stream with the signal's reason, as a lost connection would.
 */
import type { StreamPart } from "./stream-part.ts";

/** Parts, and promises that are waited for. */
export type PartSource = Iterator<StreamPart | PromiseLike<unknown>, void, undefined>;

/** Parts that are made before they are asked for. */
const AHEAD = 64;

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
    { highWaterMark: AHEAD },
  );
}

/** Resolves after a time; an abort is left to whoever waits. The timer is gone once it has fired or `signal` aborts. */
export async function pauseFor(ms: number, signal?: AbortSignal): Promise<void> {
  await new Promise<void>((resolve) => {
    const done = (): void => {
      clearTimeout(timer);
      signal?.removeEventListener("abort", done);
      resolve();
    };
    const timer = setTimeout(done, ms);
    signal?.addEventListener("abort", done);
  });
}

/** Never resolves by itself: a provider that says nothing more. */
export async function waitForAbort(signal: AbortSignal | undefined): Promise<void> {
  await new Promise<void>((resolve) => signal?.addEventListener("abort", () => resolve(), { once: true }));
}
