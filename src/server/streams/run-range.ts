/** The range of records that belong to one run: its first record, and its last one when the run has ended. */
import type { Log } from "../../log/index.ts";
import { assertIncarnation } from "../../log/follow-records.ts";
import { LoomError } from "../../protocol/index.ts";
import { createWakeup } from "../../log/create-wakeup.ts";

export interface RunRangeOptions {
  readonly log: Log;
  readonly sessionId: string;
  readonly runId: string;
  /** The command that starts the run. */
  readonly commandId?: string | undefined;
}

export class RunRange {
  readonly #options: RunRangeOptions;
  #first: number | undefined;
  #last: number | undefined;

  constructor(options: RunRangeOptions) {
    this.#options = options;
  }

  /** The first record. Undefined before the run has started. */
  get first(): number | undefined {
    return this.#first;
  }

  /** The last record. Undefined while the run is live. */
  get last(): number | undefined {
    return this.#last;
  }

  async refresh(): Promise<void> {
    const { log, sessionId, runId } = this.#options;
    const run = await log.getRun(sessionId, runId);
    this.#first = run?.firstId ?? this.#first;
    this.#last = run?.lastId ?? this.#last;
  }

  /**
   * Waits until the run has started or the signal is aborted. Rejects with the reason when the run will never start.
   */
  async waitForStart(incarnation: string, signal: AbortSignal): Promise<void> {
    const { log, sessionId } = this.#options;
    const wakeup = createWakeup(signal);
    const unwatch = log.watch(sessionId, wakeup.notify, { hintsOnly: true });
    try {
      while (!wakeup.isAborted) {
        wakeup.reset();
        await this.#checkStart(incarnation);
        if (this.#first !== undefined) return;
        await wakeup.wait();
      }
    } finally {
      unwatch();
      wakeup.close();
    }
  }

  async #checkStart(incarnation: string): Promise<void> {
    const { log, sessionId, runId, commandId } = this.#options;
    // Read before the run: the outcome of the command is written together with the first record of the run.
    const command = commandId === undefined ? undefined : await log.getCommand(sessionId, commandId);
    await this.refresh();
    if (this.#first !== undefined) return;
    await assertIncarnation(log, sessionId, incarnation);
    const outcome = command?.outcome;
    if (outcome === undefined) return;
    const { code, message = "", details } = outcome;
    if (code !== "done") throw new LoomError(code, message, details);
    throw new LoomError("unknown_run", `Run "${runId}" of session "${sessionId}" no longer exists`, { run_id: runId });
  }
}
