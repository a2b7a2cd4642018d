/**
 * Looks for cancels of a session that somebody else's runs are written into, and passes them on. Other commands are left
 * to whoever holds the session next: there is nobody here who could carry them out.
 */
import type { CommandState, Log } from "../log/log.ts";
import type { Settle } from "./run-contract.ts";
import { SESSION_DEFAULTS } from "./session-options.ts";
import { Waker } from "./waker.ts";

export interface CancelTarget {
  readonly runId: string | undefined;
  readonly requestId: string | undefined;
}

/** False: no live run is meant. */
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
    this.#waker = new Waker(SESSION_DEFAULTS.inboxMs, () => this.#pass());
    this.#unwatch = log.watch(sessionId, () => this.#waker.hint(), { hintsOnly: true });
  }

  /** There may be one. */
  look(): void {
    this.#waker.hint();
  }

  stop(): void {
    this.#isStopped = true;
    this.#unwatch();
    this.#waker.stop();
  }

  async #pass(): Promise<void> {
    this.#waker.begin();
    for (const command of await this.#log.listPending(this.#sessionId)) {
      if (this.#isStopped) return;
      if (command.kind === "cancel") this.#passOn(command);
    }
  }

  #passOn({ commandId, body }: CommandState): void {
    const { run_id, request_id, reason } = body;
    const target = { runId: readText(run_id), requestId: readText(request_id) };
    const settle: Settle = (eventId) => ({ commandId, outcome: { code: "done", eventId } });
    this.#cancel(target, readText(reason) ?? "cancelled", settle);
  }
}

function readText(value: unknown): string | undefined {
  return typeof value === "string" ? value : undefined;
}
