/**
 * Brings committed records to observers, run by run: live from the sessions of this process, or from a log that was
 * written before. It stands between runs and those who look at them: nothing an observer does reaches the run.
 */
import type { Log, LogEntry } from "../log/log.ts";
import type { ObservedRun, Observer } from "./observer.ts";

export interface ObservationOptions {
  /** Told of what observers throw. */
  readonly onError?: (error: unknown) => void;
}

/** What a session is given so that it is observed; see `SessionOptions`. */
export interface SessionTap {
  readonly onCommit: (entries: readonly LogEntry[]) => void;
  readonly onEnd: (sessionId: string) => void;
}

export class Observation {
  readonly #observers: readonly Observer[];
  readonly #options: ObservationOptions;

  constructor(observers: readonly Observer[], options: ObservationOptions = {}) {
    this.#observers = observers;
    this.#options = options;
  }

  /** For all sessions of a log that this process opens. */
  tap(_log: Log): SessionTap {
    return { onCommit: () => undefined, onEnd: () => undefined };
  }

  /** For one run of a session that was opened without: from before it starts to its end. Gives what stops it. */
  watchRun(
    _session: {
      readonly log: Log;
      readonly sessionId: string;
      onCommit(listener: (entries: readonly LogEntry[]) => void): () => void;
    },
    _runId: string,
  ): () => void {
    return () => undefined;
  }

  /** Call it where the run is asked for, in the caller's asynchronous context. */
  expectRun(run: ObservedRun & { readonly runId: string }): void {
    for (const observer of this.#observers) {
      try {
        observer.expectRun?.(run);
      } catch (error) {
        this.#options.onError?.(error);
      }
    }
  }
}
