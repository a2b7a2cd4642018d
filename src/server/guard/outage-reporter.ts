/**
 * Reports errors to the operator. An outage of the store is reported once, however many requests and runs fail because
 * of it; they receive the ID of that report.
 */
import { ErrorReporter, type OnError } from "../../engine/error-reporter.ts";
import type { LogMonitor } from "../../log/log-monitor.ts";
import { isLoomError, type LoomError } from "../../protocol/index.ts";

export class OutageReporter {
  readonly #monitor: LogMonitor | undefined;
  readonly #reporter: ErrorReporter;
  /** The latest fault of the store. */
  #outage: LoomError | undefined;
  /** For parts that report on their own; undefined if there is none. */
  readonly onError: OnError | undefined;

  constructor(monitor: LogMonitor | undefined, onError: OnError | undefined) {
    this.#monitor = monitor;
    const handle: OnError = (error, errorId) => (this.#isRepeated(error) ? undefined : onError?.(error, errorId));
    const findReport: OnError["findReport"] = (error) =>
      this.#isRepeated(error) ? this.#reporter.report(this.#outage) : undefined;
    this.onError = onError && Object.assign(handle, { findReport });
    this.#reporter = new ErrorReporter(this.onError);
  }

  /** Returns the ID of the report. */
  report(error: unknown): string {
    return this.#reporter.report(error);
  }

  /** Like `report`. Without `onError`, the error is shown as a process warning. */
  reportOrWarn(error: unknown): string {
    return this.#isRepeated(error) ? this.report(error) : this.#reporter.reportOrWarn(error);
  }

  /** Reports a fault of the store. Returns false if it was reported before. */
  reportFault(fault: LoomError): boolean {
    if (fault === this.#outage) return false;
    this.#outage = fault;
    this.report(fault);
    return true;
  }

  /** A request can fail because of an outage that has just ended. */
  #isRepeated(error: unknown): boolean {
    if (!isLoomError(error) || error === this.#outage || error.code !== this.#outage?.code) return false;
    return this.#monitor?.fault !== undefined || error.code === "store_unavailable";
  }
}
