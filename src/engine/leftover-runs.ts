/**
 * Recovers the runs that the last writer of a session left live, and tracks the two kinds that stay live: a run that
 * waits for the user and cannot be resumed here, and a run left for another process. `recoverRun` decides about each
 * run.
 */
import type { RunExecutor } from "./run-executor.ts";
import { endInterrupted, INTERRUPTED, type RecoveredRun, recoverRun } from "./recovery.ts";
import type { Run } from "./run.ts";
import type { SessionOptions } from "./session-options.ts";
import type { Waker } from "./waker.ts";

export class LeftoverRuns {
  readonly #options: SessionOptions;
  readonly #executor: RunExecutor;
  readonly #waker: Waker;
  readonly #recovered: RecoveredRun[] = [];
  /** The run that waits for the user and ends when the user has answered. */
  #abandoned: Run | undefined;
  /** The run that was left for another process. */
  #left: Run | undefined;

  /** The task of the waker must call `endAnswered`. */
  constructor(options: SessionOptions, executor: RunExecutor, waker: Waker) {
    this.#options = options;
    this.#executor = executor;
    this.#waker = waker;
  }

  /** Outcome of each recovered run. */
  get recovered(): readonly RecoveredRun[] {
    return this.#recovered;
  }

  /**
   * Recovers a run. A session has one live run, so only the last one can continue. `wasHandedOver`: the last writer
   * stopped in an orderly way.
   */
  async recover(run: Run, isLast: boolean, wasHandedOver: boolean): Promise<void> {
    const mayLeave = this.#options.deadRuns === "leave" && this.#options.onRun === undefined;
    const { outcome, completion } = isLast
      ? recoverRun(run, { ...this.#options, mayLeave, wasHandedOver })
      : endInterrupted(run);
    this.#recovered.push({ runId: run.runId, outcome });
    if (outcome === "resumed") this.#executor.execute(run, async () => completion);
    else await completion;
    if (outcome === "left") this.#left = run;
    if (outcome !== "waiting") return;
    this.#abandoned = run;
    void run.approvalsSettled().then(() => this.#waker.wake());
  }

  /** Ends the run that waited for the user or the client, once no call needs an answer. */
  async endAnswered(): Promise<void> {
    if (this.#abandoned?.work.needsAnswer === false) await this.#abandoned.fail(INTERRUPTED);
  }

  isLeft(run: Run): boolean {
    return run === this.#left;
  }

  /** Forgets a run that has ended, or all runs. */
  forget(runId?: string): void {
    if (runId === undefined || this.#abandoned?.runId === runId) this.#abandoned = undefined;
  }
}
