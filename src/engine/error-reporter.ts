/**
 * Tells the session's owner what went wrong and is nobody's result: what agents and listeners throw, and events that
 * were refused while their run went on. Whatever those do who are told, it disturbs nothing.
 */
import { randomUUID } from "node:crypto";
import { showWarning } from "./show-warning.ts";

export type OnError = (error: unknown, errorId: string) => unknown;

export class ErrorReporter {
  readonly #onError: OnError | undefined;
  #hasWarned = false;
  /** An error on its way up is met by many, and told of once. */
  readonly #ids = new WeakMap<object, string>();

  constructor(onError: OnError | undefined) {
    this.#onError = onError;
  }

  /** Gives the id under which somebody was told. */
  report(error: unknown): string {
    const isObject = typeof error === "object" && error !== null;
    const known = isObject ? this.#ids.get(error) : undefined;
    if (known !== undefined) return known;
    const errorId = randomUUID();
    if (isObject) this.#ids.set(error, errorId);
    guard(() => this.#onError?.(error, errorId), showWarning);
    return errorId;
  }

  /** Where nobody listens, the first is shown: many may follow, and whoever awaits them knows. */
  reportRefusal(error: unknown): void {
    if (this.#onError === undefined && !this.#hasWarned) showWarning(error);
    this.#hasWarned = true;
    this.report(error);
  }

  /** Calls each listener, and reports what one throws. */
  tell<T>(listeners: Iterable<(news: T) => void>, news: T): void {
    for (const listener of listeners)
      guard(
        () => listener(news),
        (error) => this.report(error),
      );
  }
}

/** What an asynchronous function rejects with is caught too: nobody waits for it, and it would end the process. */
function guard(call: () => unknown, onError: (error: unknown) => void): void {
  try {
    const answer = call();
    if (typeof answer === "object" && answer !== null && "then" in answer)
      new Promise((resolve) => resolve(answer)).catch(onError);
  } catch (error) {
    onError(error);
  }
}
