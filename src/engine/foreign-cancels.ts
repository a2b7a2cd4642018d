/**
 * Watches a session that receives foreign runs for `cancel` commands and passes them on. Other commands stay in the log
 * for the next holder of the session.
 */
import type { Log } from "../log/log.ts";
import { type CommandTarget, readTargetOf, settleDone } from "./command-body.ts";
import type { Settle } from "./run-contract.ts";
import { SESSION_DEFAULTS } from "./session-options.ts";
import { Waker } from "./waker.ts";

/** Checks for new commands soon, or stops the watch. */
export interface CancelWatch {
  check(): void;
  stop(): void;
}

/** Calls `cancel` with each cancel that is pending, possibly more than once. */
export function watchCancels(
  log: Log,
  sessionId: string,
  cancel: (target: CommandTarget, reason: string, settle: Settle) => void,
): CancelWatch {
  let isStopped = false;
  const waker = new Waker(SESSION_DEFAULTS.inboxMs, async () => {
    waker.begin();
    // The cancel may wait behind many queued messages.
    const pending = await log.listPending(sessionId, log.limits.maxPendingCommands);
    for (const { commandId, kind, body } of pending) {
      if (isStopped) return;
      const { reason } = body;
      if (kind === "cancel")
        cancel(readTargetOf(body), typeof reason === "string" ? reason : "cancelled", settleDone(commandId));
    }
  });
  const unwatch = log.watch(sessionId, () => waker.hint(), { hintsOnly: true });
  const stop = (): void => {
    isStopped = true;
    unwatch();
    waker.stop();
  };
  return { check: () => waker.hint(), stop };
}
