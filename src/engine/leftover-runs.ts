/**
 * Recovers the runs that the last writer of a session left live, and tracks the two kinds that stay live: a run that
 * waits for the user and cannot be resumed here, and a run left for another process. `recoverRun` decides about each
 * run.
 */
import type { RunInfo } from "../log/log.ts";
import type { RunExecutor } from "./run-executor.ts";
import { endInterrupted, INTERRUPTED, type RecoveredRun, recoverRun } from "./recovery.ts";
import type { Run } from "./run.ts";
import type { SessionOptions } from "./session-options.ts";

export interface LeftoverRunsHost {
  readonly options: SessionOptions;
  readonly executor: RunExecutor;
  restore(info: RunInfo): Promise<Run>;
  /** The run is now the live run of the session. */
  onLive(run: Run): void;
  /** The user answered a run that cannot be resumed here. The session should call `endAnswered`. */
  onAnswered(): void;
}

export class LeftoverRuns {
  readonly #host: LeftoverRunsHost;
  readonly #recovered: RecoveredRun[] = [];
  /** The run that waits for the user and ends when the user has answered. */
  #abandoned: Run | undefined;
  /** The run that was left for another process. */
  #left: Run | undefined;

  constructor(host: LeftoverRunsHost) {
    this.#host = host;
  }

  /** Outcome of each recovered run. */
  get recovered(): readonly RecoveredRun[] {
    return this.#recovered;
  }

  /** Recovers the runs, oldest first. `wasHandedOver`: the last writer stopped in an orderly way. */
  async recover(dead: readonly RunInfo[], wasHandedOver: boolean): Promise<void> {
    const { options, executor } = this.#host;
    const mayLeave = options.deadRuns === "leave" && options.onRun === undefined;
    for (const [index, info] of dead.entries()) {
      const run = await this.#host.restore(info);
      // A session has one live run, so only the newest can continue.
      const isLast = index === dead.length - 1;
      this.#host.onLive(run);
      const { outcome, completion } = isLast
        ? recoverRun(run, { ...options, mayLeave, wasHandedOver })
        : endInterrupted(run);
      this.#recovered.push({ runId: run.runId, outcome });
      if (outcome === "resumed") executor.execute(run, async () => completion);
      else await completion;
      if (outcome === "left") this.#left = run;
      if (outcome !== "waiting") continue;
      this.#abandoned = run;
      void run.approvalsSettled().then(() => this.#host.onAnswered());
    }
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
