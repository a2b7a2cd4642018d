/**
 * Those who carry out runs of a session by themselves: agents for messages that were enqueued, and for runs that were
 * resumed. Whatever they do, their run ends with them.
 */
import { isLoomError } from "../protocol/index.ts";
import type { ErrorReporter } from "./error-reporter.ts";
import type { Run } from "./run.ts";
import type { RunFailure } from "./run-contract.ts";

export class Drivers {
  readonly #reporter: ErrorReporter;
  readonly #going = new Set<Promise<unknown>>();

  constructor(reporter: ErrorReporter) {
    this.#reporter = reporter;
  }

  get size(): number {
    return this.#going.size;
  }

  /** Resolves when those that are going now are done. */
  async settled(): Promise<void> {
    await Promise.allSettled(this.#going);
  }

  /** Completes the run when the work is done, fails it when it throws. */
  drive(run: Run, work: () => Promise<unknown>): void {
    const going = this.#carryOut(run, work).catch(() => undefined);
    this.#going.add(going);
    void going.then(() => this.#going.delete(going));
  }

  async #carryOut(run: Run, work: () => Promise<unknown>): Promise<void> {
    try {
      await work();
      if (run.status === "live") await run.finish();
    } catch (error) {
      if (run.status === "live") await run.fail(describeFailure(error, this.#reporter));
    }
  }
}

/** Errors of ours may be shown; of any other the user sees the id under which somebody was told. */
export function describeFailure(error: unknown, reporter: Pick<ErrorReporter, "report">): RunFailure {
  if (!isLoomError(error)) {
    const error_id = reporter.report(error);
    return { message: "the run failed unexpectedly", code: "run_failed", details: { error_id } };
  }
  const { stage, ...details } = error.details;
  return {
    message: error.message,
    code: error.code,
    ...(typeof stage === "string" ? { stage, recoverable: true } : {}),
    ...(Object.keys(details).length === 0 ? {} : { details }),
  };
}
