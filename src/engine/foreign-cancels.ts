/**
 * Watches a session that receives foreign runs for `cancel` commands and passes them on. Other commands stay in the log
 * for the next holder of the session.
 */
import type { CommandState, Log } from "../log/log.ts";
import type { Settle } from "./run-contract.ts";
import { SESSION_DEFAULTS } from "./session-options.ts";
import { Waker } from "./waker.ts";

export interface CancelTarget {
  readonly runId: string | undefined;
  readonly requestId: string | undefined;
}

/** Returns false when no live run matches. */
type Cancel = (target: CancelTarget, reason: string, settle: Settle) => boolean;

export class ForeignCancels {
  readonly #log: Log;
  readonly #sessionId: string;
  readonly #cancel: Cancel;
  readonly #waker: Waker;
  readonly #unwatch: () => void;
  #isStopped = false;

  constructor(log: Log, sessionId: string, cancel: Cancel) {
    this.#log = log;
    this.#sessionId = sessionId;
    this.#cancel = cancel;
    this.#waker = new Waker(SESSION_DEFAULTS.inboxMs, () => this.#poll());
    this.#unwatch = log.watch(sessionId, () => this.#waker.hint(), { hintsOnly: true });
  }

  /** Checks for new commands soon. */
  check(): void {
    this.#waker.hint();
  }

  stop(): void {
    this.#isStopped = true;
    this.#unwatch();
    this.#waker.stop();
  }

  async #poll(): Promise<void> {
    this.#waker.begin();
    // The cancel may wait behind many queued messages.
    const pending = await this.#log.listPending(this.#sessionId, this.#log.limits.maxPendingCommands);
    for (const command of pending) {
      if (this.#isStopped) return;
      if (command.kind === "cancel") this.#forward(command);
    }
  }

  #forward({ commandId, body }: CommandState): void {
    const { run_id, request_id, reason } = body;
    const target = { runId: readText(run_id), requestId: readText(request_id) };
    const settle: Settle = (eventId) => ({ commandId, outcome: { code: "done", eventId } });
    this.#cancel(target, readText(reason) ?? "cancelled", settle);
  }
}

function readText(value: unknown): string | undefined {
  return typeof value === "string" ? value : undefined;
}
