/** Executes runs that no caller drives: agents for queued messages, and resumed runs. A run ends when its work ends. */
import { isLoomError } from "../protocol/index.ts";
import type { ErrorReporter } from "./error-reporter.ts";
import type { Run } from "./run.ts";
import type { RunFailure } from "./run-contract.ts";

export class RunExecutor {
  readonly #reporter: ErrorReporter;
  readonly #active = new Set<Promise<unknown>>();

  constructor(reporter: ErrorReporter) {
    this.#reporter = reporter;
  }

  get size(): number {
    return this.#active.size;
  }

  /** Resolves when all work that is active now has ended. */
  async settled(): Promise<void> {
    await Promise.allSettled(this.#active);
  }

  /** Starts `work`. Completes the run when the work resolves, and fails it when the work rejects. */
  execute(run: Run, work: () => Promise<unknown>): void {
    const active = this.#run(run, work).catch(() => undefined);
    this.#active.add(active);
    void active.then(() => this.#active.delete(active));
  }

  async #run(run: Run, work: () => Promise<unknown>): Promise<void> {
    try {
      await work();
      if (run.status === "live") await run.finish();
    } catch (error) {
      if (run.status === "live") await run.fail(describeFailure(error, this.#reporter));
    }
  }
}

/**
 * Converts an error to the failure of a run. The message of a `LoomError` is shown to users. Any other error is reported,
 * and users see only its ID; of an error of the store, which may name a host or a file, they see its code too.
 */
export function describeFailure(error: unknown, reporter: Pick<ErrorReporter, "report">): RunFailure {
  if (!isLoomError(error))
    return {
      message: "The run failed unexpectedly",
      code: "run_failed",
      details: { error_id: reporter.report(error) },
    };
  if (error.code.startsWith("store_"))
    return {
      message: "The store of the server failed",
      code: error.code,
      details: { error_id: reporter.report(error) },
    };
  const { stage, ...details } = error.details;
  return {
    message: error.message,
    code: error.code,
    ...(typeof stage === "string" ? { stage, recoverable: true } : {}),
    ...(Object.keys(details).length === 0 ? {} : { details }),
  };
}
