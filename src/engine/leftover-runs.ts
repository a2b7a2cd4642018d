/**
 * The runs that a session's last writer left live, as far as they need looking after: one that waits for the user and has
 * nobody who goes on with it, and one that is for somebody else to go on with. What becomes of each is decided by
 * `recoverRun`.
 */
import type { RunInfo } from "../log/log.ts";
import type { Drivers } from "./drivers.ts";
import { endRun, INTERRUPTED, type RecoveredRun, recoverRun } from "./recovery.ts";
import type { Run } from "./run.ts";
import type { SessionOptions } from "./session-options.ts";

export interface LeftoverHost {
  readonly options: SessionOptions;
  readonly drivers: Drivers;
  restore(info: RunInfo): Promise<Run>;
  /** It is the session's live run now. */
  onLive(run: Run): void;
  /** The questions of a run nobody goes on with are answered: `endAnswered` should be called. */
  onAnswered(): void;
}

export class LeftoverRuns {
  readonly #host: LeftoverHost;
  readonly #recovered: RecoveredRun[] = [];
  /** It has nobody who goes on with it, and ends when the user has answered. */
  #abandoned: Run | undefined;
  /** It is for somebody else to go on with. */
  #left: Run | undefined;

  constructor(host: LeftoverHost) {
    this.#host = host;
  }

  /** What became of each. */
  get recovered(): readonly RecoveredRun[] {
    return this.#recovered;
  }

  /** Puts right what was left, oldest first. */
  async recover(dead: readonly RunInfo[]): Promise<void> {
    const { options, drivers } = this.#host;
    const mayLeave = options.deadRuns === "leave" && options.onRun === undefined;
    for (const [index, info] of dead.entries()) {
      const run = await this.#host.restore(info);
      // One run is live at a time: only the newest can go on.
      const isLast = index === dead.length - 1;
      this.#host.onLive(run);
      const { outcome, going } = isLast ? recoverRun(run, { ...options, mayLeave }) : endRun(run);
      this.#recovered.push({ runId: run.runId, outcome });
      if (outcome === "resumed") drivers.drive(run, async () => going);
      else await going;
      if (outcome === "left") this.#left = run;
      if (outcome !== "waiting") continue;
      this.#abandoned = run;
      void run.answered().then(() => this.#host.onAnswered());
    }
  }

  /** Ends the run that only waited for the user, once it does no more. */
  async endAnswered(): Promise<void> {
    if (this.#abandoned !== undefined && this.#abandoned.work.waiting.length === 0)
      await this.#abandoned.fail(INTERRUPTED);
  }

  isLeft(run: Run): boolean {
    return run === this.#left;
  }

  /** The run is over; all are when none is named. */
  forget(runId?: string): void {
    if (runId === undefined || this.#abandoned?.runId === runId) this.#abandoned = undefined;
  }
}
