/** Aborts some work when the caller does, or when its time is over. */
import { LoomError } from "../../protocol/index.ts";
import { untilAborted } from "../until-aborted.ts";

/** Throws `tool_timeout` when the time is over. */
export async function withDeadline<T>(
  timeoutMs: number,
  outer: AbortSignal,
  work: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  outer.throwIfAborted();
  const controller = new AbortController();
  const stop = (): void => controller.abort(outer.reason);
  outer.addEventListener("abort", stop, { once: true });
  const timer = setTimeout(
    () => controller.abort(new LoomError("tool_timeout", `The page was not there after ${timeoutMs} ms.`)),
    timeoutMs,
  );
  try {
    // Whatever the work waits for, the time is over when it is over.
    return await untilAborted(work(controller.signal), controller.signal);
  } finally {
    clearTimeout(timer);
    outer.removeEventListener("abort", stop);
  }
}
