/**
 * Monitors one attempt of a model call: the caller's signal, the connect timeout and the idle timeout. The provider
 * gets this monitor's own signal, so that every reason to stop also closes the socket.
 *
 * Invariant: after `close` no timer runs and no listener is left on the caller's signal.
 */
import { isLoomError, LoomError } from "../protocol/index.ts";
import type { LanguageModel } from "./model.ts";
import { describeModel, formatModel } from "./model-fault.ts";
import { limitTimer } from "../protocol/limit-timer.ts";

export interface AttemptTimeouts {
  readonly connectTimeoutMs: number;
  readonly idleTimeoutMs: number;
}

/** How long the stream may stay open after the finish part, in milliseconds. */
const DRAIN_MS = 1000;
/** Checks per idle timeout. */
const IDLE_CHECKS = 8;

export class AttemptMonitor {
  readonly #model: LanguageModel;
  readonly #timeouts: AttemptTimeouts;
  readonly #callerSignal: AbortSignal | undefined;
  readonly #abort = new AbortController();
  readonly #onAbort = (): void => this.#stop(createCancelled(this.#callerSignal?.reason));
  #timer: NodeJS.Timeout;
  #stopError: LoomError | undefined;
  #onStop: ((error: LoomError) => void) | undefined;
  #parts = 0;
  #isListenerBusy = false;
  #isDraining = false;

  constructor(model: LanguageModel, times: AttemptTimeouts, caller: AbortSignal | undefined) {
    this.#model = model;
    this.#timeouts = times;
    this.#callerSignal = caller;
    caller?.addEventListener("abort", this.#onAbort);
    const { connectTimeoutMs } = times;
    this.#timer = setTimeout(
      () => this.#timeOut(`did not respond within ${connectTimeoutMs} ms`),
      limitTimer(connectTimeoutMs),
    );
    if (caller?.aborted === true) this.#onAbort();
  }

  /** The signal for the provider. */
  get signal(): AbortSignal {
    return this.#abort.signal;
  }

  /** The error that stopped the attempt, if it was stopped from here. */
  get stopError(): LoomError | undefined {
    return this.#stopError;
  }

  /**
   * Waits for `work` until the attempt is stopped. A result that arrives later goes to `discard`, which must not throw.
   */
  waitFor<T>(work: PromiseLike<T>, discard: (late: T) => void): Promise<T> {
    return new Promise<T>((resolve, reject) => {
      if (this.#stopError !== undefined) reject(this.#stopError);
      this.#onStop = reject;
      work.then((result) => (this.#stopError === undefined ? resolve(result) : discard(result)), reject);
    });
  }

  /** Starts the idle timeout. `end` is called when the stream must no longer be read. */
  watchParts(end: (error: LoomError) => void): void {
    this.#onStop = end;
    clearTimeout(this.#timer);
    const { idleTimeoutMs } = this.#timeouts;
    let seen = 0;
    let quiet = 0;
    // A periodic check is cheaper than restarting a timer for every part.
    this.#timer = setInterval(
      () => {
        // Time the listener takes is not the provider's.
        quiet = this.#parts === seen && !this.#isListenerBusy ? quiet + 1 : 0;
        seen = this.#parts;
        if (quiet === IDLE_CHECKS) this.#timeOut(`sent nothing for ${idleTimeoutMs} ms`);
      },
      limitTimer(idleTimeoutMs / IDLE_CHECKS),
    );
  }

  countPart(): void {
    this.#parts++;
  }

  /** Waits for the listener. This time does not count as idle. */
  async waitForListener(listener: PromiseLike<void>): Promise<void> {
    const end = this.#onStop;
    this.#isListenerBusy = true;
    try {
      await new Promise<void>((resolve, reject) => {
        if (this.#stopError !== undefined) reject(this.#stopError);
        this.#onStop = (error) => {
          end?.(error);
          reject(error);
        };
        listener.then(resolve, reject);
      });
    } finally {
      this.#isListenerBusy = false;
      this.#onStop = end;
      this.countPart();
    }
  }

  /** The answer is complete: gives the stream a moment to end, so that the connection can be reused. */
  drain(end: () => void): void {
    if (this.#isDraining) return;
    this.#isDraining = true;
    clearTimeout(this.#timer);
    this.#timer = setTimeout(end, DRAIN_MS);
  }

  /** Stops monitoring. Closes the provider's connection unless the stream has ended. */
  close({ isDone }: { readonly isDone: boolean }): void {
    clearTimeout(this.#timer);
    this.#callerSignal?.removeEventListener("abort", this.#onAbort);
    this.#onStop = undefined;
    if (!isDone) this.#abort.abort();
  }

  #timeOut(what: string): void {
    const message = `${formatModel(this.#model)} ${what}`;
    this.#stop(new LoomError("model_timeout", message, describeModel(this.#model)));
  }

  #stop(error: LoomError): void {
    if (this.#stopError !== undefined) return;
    this.#stopError = error;
    clearTimeout(this.#timer);
    this.#abort.abort(error);
    this.#onStop?.(error);
  }
}

/** Returns the reason itself if it is a LoomError. */
export function createCancelled(reason: unknown): LoomError {
  if (isLoomError(reason)) return reason;
  return new LoomError("cancelled", "The model call was cancelled", {}, { cause: reason });
}
