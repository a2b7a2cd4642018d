/** Runs work with a time limit and a signal. */
import { LoomError } from "../../protocol/index.ts";
import { untilAborted } from "../../protocol/until-aborted.ts";

/** Throws `tool_timeout` after `timeoutMs`, or the reason of `outer` if it aborts. */
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
    () => controller.abort(new LoomError("tool_timeout", `The request timed out after ${timeoutMs} ms`)),
    timeoutMs,
  );
  try {
    // Applies even if the work ignores the signal.
    return await untilAborted(work(controller.signal), controller.signal);
  } finally {
    clearTimeout(timer);
    outer.removeEventListener("abort", stop);
  }
}
