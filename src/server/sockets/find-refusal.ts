/** Whether a message that waits for its turn is taken out before it comes: somebody may cancel it, or nobody may take it. */
import type { CommandOutcome, Log } from "../../log/index.ts";

export interface Refusal {
  readonly code: string;
  readonly message: string;
}

/** Hints can be lost: how often to look without one. */
const RECHECK_MS = 1000;

/** Resolves to why no run begins; undefined once one has, or when nobody wants to know any more. */
export async function findRefusal(
  log: Log,
  sessionId: string,
  commandId: string,
  signal: AbortSignal,
): Promise<Refusal | undefined> {
  let wake: () => void = () => undefined;
  const stop = (): void => wake();
  const unwatch = log.watch(sessionId, stop, { hintsOnly: true });
  signal.addEventListener("abort", stop);
  try {
    while (!signal.aborted) {
      const { promise: hint, resolve } = Promise.withResolvers<void>();
      wake = resolve;
      const outcome = (await log.getCommand(sessionId, commandId))?.outcome;
      if (outcome !== undefined) return toRefusal(outcome);
      if (signal.aborted) return undefined;
      const timer = setTimeout(resolve, RECHECK_MS).unref();
      await hint;
      clearTimeout(timer);
    }
    return undefined;
  } finally {
    unwatch();
    signal.removeEventListener("abort", stop);
  }
}

function toRefusal({ code, message = code }: CommandOutcome): Refusal | undefined {
  return code === "done" ? undefined : { code, message };
}
