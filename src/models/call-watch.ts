/**
 * Watches one try of a model call: the caller's signal, the time until the provider answers, the time between two parts.
 * It has a signal of its own that the provider is given, so that whatever ends the try closes the socket.
 *
 * Invariant: after `close` no timer runs and no listener is left on the caller's signal.
 */
import { isLoomError, LoomError } from "../protocol/index.ts";
import type { LanguageModel } from "./model.ts";
import { nameOf } from "./model-fault.ts";

export interface WatchTimes {
  readonly connectTimeoutMs: number;
  readonly idleTimeoutMs: number;
}

/** What is left of a stream after its last part. */
const REST_MS = 1000;
/** Looks in the time that a provider may say nothing. */
const LOOKS = 8;
const LONGEST_TIMER_MS = 2 ** 31 - 1;

export class CallWatch {
  readonly #model: LanguageModel;
  readonly #times: WatchTimes;
  readonly #caller: AbortSignal | undefined;
  readonly #abort = new AbortController();
  readonly #onAbort = (): void => this.#stop(createCancelled(this.#caller?.reason));
  #timer: NodeJS.Timeout;
  #stopped: LoomError | undefined;
  #onStop: ((error: LoomError) => void) | undefined;
  #parts = 0;
  #isHeld = false;
  #isResting = false;

  constructor(model: LanguageModel, times: WatchTimes, caller: AbortSignal | undefined) {
    this.#model = model;
    this.#times = times;
    this.#caller = caller;
    caller?.addEventListener("abort", this.#onAbort);
    const { connectTimeoutMs } = times;
    this.#timer = setTimeout(() => this.#runOut("did not answer", connectTimeoutMs), limitTimer(connectTimeoutMs));
    if (caller?.aborted === true) this.#onAbort();
  }

  /** For the provider. */
  get signal(): AbortSignal {
    return this.#abort.signal;
  }

  /** Why the try was ended from here. */
  get stopped(): LoomError | undefined {
    return this.#stopped;
  }

  /** The work, or the reason why it is not waited for any longer. A late result goes to `discard`, which must not throw. */
  waitFor<T>(work: PromiseLike<T>, discard: (late: T) => void): Promise<T> {
    return new Promise<T>((resolve, reject) => {
      if (this.#stopped !== undefined) reject(this.#stopped);
      this.#onStop = reject;
      work.then((result) => (this.#stopped === undefined ? resolve(result) : discard(result)), reject);
    });
  }

  /** From now on the time between two parts counts. `end` is called when the stream is not to be read any longer. */
  watchParts(end: (error: LoomError) => void): void {
    this.#onStop = end;
    clearTimeout(this.#timer);
    const { idleTimeoutMs } = this.#times;
    let seen = 0;
    let quiet = 0;
    // Looking now and then costs less than a timer that is set anew with every part.
    this.#timer = setInterval(
      () => {
        // Time that the listener took is not the provider's.
        quiet = this.#parts === seen && !this.#isHeld ? quiet + 1 : 0;
        seen = this.#parts;
        if (quiet === LOOKS) this.#runOut("said nothing", idleTimeoutMs);
      },
      limitTimer(idleTimeoutMs / LOOKS),
    );
  }

  /** A part has come. */
  touch(): void {
    this.#parts++;
  }

  /** Waits for the listener, whose time does not count. */
  async hold(listener: PromiseLike<void>): Promise<void> {
    const end = this.#onStop;
    this.#isHeld = true;
    try {
      await new Promise<void>((resolve, reject) => {
        if (this.#stopped !== undefined) reject(this.#stopped);
        this.#onStop = (error) => {
          end?.(error);
          reject(error);
        };
        listener.then(resolve, reject);
      });
    } finally {
      this.#isHeld = false;
      this.#onStop = end;
      this.touch();
    }
  }

  /** The answer is whole: what is left of the stream is given a moment, so that the connection can be used again. */
  rest(end: () => void): void {
    if (this.#isResting) return;
    this.#isResting = true;
    clearTimeout(this.#timer);
    this.#timer = setTimeout(end, REST_MS);
  }

  /** Nothing is watched any longer; what the provider still has open is closed unless it came to its end. */
  close({ isDone }: { readonly isDone: boolean }): void {
    clearTimeout(this.#timer);
    this.#caller?.removeEventListener("abort", this.#onAbort);
    this.#onStop = undefined;
    if (!isDone) this.#abort.abort();
  }

  #runOut(what: string, ms: number): void {
    const { provider, modelId } = this.#model;
    const message = `${nameOf(this.#model)} ${what} for ${ms} ms.`;
    this.#stop(new LoomError("model_timeout", message, { provider, model: modelId }));
  }

  #stop(error: LoomError): void {
    if (this.#stopped !== undefined) return;
    this.#stopped = error;
    clearTimeout(this.#timer);
    this.#abort.abort(error);
    this.#onStop?.(error);
  }
}

/** The caller's own reason where it is one of ours. */
export function createCancelled(reason: unknown): LoomError {
  if (isLoomError(reason)) return reason;
  return new LoomError("cancelled", "The call of the model was cancelled.", {}, { cause: reason });
}

/** Node takes a time that is too long for none at all. */
export function limitTimer(ms: number): number {
  return Math.min(ms, LONGEST_TIMER_MS);
}
