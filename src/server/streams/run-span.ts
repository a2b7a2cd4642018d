/**
 * The part of a session that is one run: its first record, and its last when there is one. It asks the log only when
 * told that something may have changed.
 */
import { type Log, RECHECK_MS } from "../../log/index.ts";
import { assertIncarnation } from "../../log/follow-records.ts";
import { LoomError } from "../../protocol/index.ts";

export interface RunSpanOptions {
  readonly log: Log;
  readonly sessionId: string;
  readonly runId: string;
  /** The command that is to become the run. */
  readonly commandId?: string | undefined;
}

export class RunSpan {
  readonly #options: RunSpanOptions;
  #first: number | undefined;
  #last: number | undefined;

  constructor(options: RunSpanOptions) {
    this.#options = options;
  }

  /** Undefined before it has begun. */
  get first(): number | undefined {
    return this.#first;
  }

  /** Undefined while it may go on. */
  get last(): number | undefined {
    return this.#last;
  }

  async look(): Promise<void> {
    const { log, sessionId, runId } = this.#options;
    const run = await log.getRun(sessionId, runId);
    this.#first = run?.firstId ?? this.#first;
    this.#last = run?.lastId ?? this.#last;
  }

  /** Rejects with why it never will. Returns as well when it was aborted. */
  async untilBegun(incarnation: string, signal: AbortSignal): Promise<void> {
    const { log, sessionId } = this.#options;
    let rang = false;
    let wake: (() => void) | undefined;
    const ring = (): void => {
      rang = true;
      wake?.();
    };
    const unwatch = log.watch(sessionId, ring, { hintsOnly: true });
    signal.addEventListener("abort", ring, { once: true });
    try {
      while (!signal.aborted) {
        rang = false;
        await this.#lookForBegin(incarnation);
        if (this.#first !== undefined) return;
        if (rang) continue;
        const { promise, resolve } = Promise.withResolvers<void>();
        wake = resolve;
        // Hints may be lost.
        const timer = setTimeout(resolve, RECHECK_MS).unref();
        await promise;
        clearTimeout(timer);
        wake = undefined;
      }
    } finally {
      unwatch();
      signal.removeEventListener("abort", ring);
    }
  }

  async #lookForBegin(incarnation: string): Promise<void> {
    const { log, sessionId, runId, commandId } = this.#options;
    // Before the run is looked for: what became of the command is written with its first record.
    const command = commandId === undefined ? undefined : await log.getCommand(sessionId, commandId);
    await this.look();
    if (this.#first !== undefined) return;
    await assertIncarnation(log, sessionId, incarnation);
    const outcome = command?.outcome;
    if (outcome === undefined) return;
    const { code, message = "", details } = outcome;
    if (code !== "done") throw new LoomError(code, message, details);
    throw new LoomError("unknown_run", `session "${sessionId}" has no run "${runId}" any more`, { run_id: runId });
  }
}
