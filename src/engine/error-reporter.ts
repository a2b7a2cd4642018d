/**
 * Reports errors that no caller receives to the session's `onError`: errors of agents and listeners, and rejected
 * events of runs that continue. A callback that throws or rejects does not affect the session.
 */
import { randomUUID } from "node:crypto";

/** Receives an error and the ID under which users see it. */
export interface OnError {
  (error: unknown, errorId: string): unknown;
  /** Returns the ID of an earlier report that stands for this error; undefined if the error has to be reported. */
  readonly findReport?: (error: unknown) => string | undefined;
}

/** Reports errors to an `onError` callback, each error object once. */
export class ErrorReporter {
  #onError: OnError | undefined;
  #hasWarned = false;
  /** Several layers may report the same error object; it is reported once. */
  readonly #ids = new WeakMap<object, string>();

  constructor(onError: OnError | undefined) {
    this.#onError = onError;
  }

  get onError(): OnError | undefined {
    return this.#onError;
  }

  /** Sets `onError` if there is none. */
  adopt(onError: OnError | undefined): void {
    this.#onError ??= onError;
  }

  /** Calls `onError` and returns the ID of the report. */
  report(error: unknown): string {
    const isObject = typeof error === "object" && error !== null;
    const known = (isObject ? this.#ids.get(error) : undefined) ?? this.#onError?.findReport?.(error);
    if (known !== undefined) return known;
    const errorId = randomUUID();
    if (isObject) this.#ids.set(error, errorId);
    guard(() => this.#onError?.(error, errorId), showWarning);
    return errorId;
  }

  /** Like `report`. Without `onError`, the error is shown as a process warning. */
  reportOrWarn(error: unknown): string {
    if (this.#onError === undefined) showWarning(error);
    return this.report(error);
  }

  /**
   * Reports a rejected event. Without `onError`, the first one is shown as a process warning; more are not, because
   * callers that await their events already see them.
   */
  reportRejection(error: unknown): void {
    if (this.#onError === undefined && !this.#hasWarned) showWarning(error);
    this.#hasWarned = true;
    this.report(error);
  }

  /** Calls each listener and reports what it throws. */
  notify<T>(listeners: Iterable<(news: T) => void>, news: T): void {
    for (const listener of listeners)
      guard(
        () => listener(news),
        (error) => this.report(error),
      );
  }
}

/** Also catches rejections of asynchronous callbacks. They are not awaited and would otherwise end the process. */
function guard(call: () => unknown, onError: (error: unknown) => void): void {
  try {
    const answer = call();
    if (typeof answer === "object" && answer !== null && "then" in answer)
      new Promise((resolve) => resolve(answer)).catch(onError);
  } catch (error) {
    onError(error);
  }
}

/** Shows an error as a process warning, for errors that no caller receives. Never throws. */
export function showWarning(error: unknown): void {
  try {
    process.emitWarning(error instanceof Error ? error : String(error));
  } catch {
    // The value cannot be converted to a string.
    process.emitWarning("A callback failed");
  }
}
