/**
 * Brings committed records to observers, run by run: live from the sessions of this process, or from a log that was
 * written before. It stands between runs and those who look at them: nothing an observer does reaches the run.
 */
import type { Log, LogEntry } from "../log/log.ts";
import { BoundedMap } from "../protocol/index.ts";
import { Audience } from "./audience.ts";
import type { ObservedRun, Observer } from "./observer.ts";
import { SessionWatch } from "./session-watch.ts";

export interface ObservationOptions {
  /** Told of what observers throw, once per observer, and of a log that cannot be read. */
  readonly onError?: (error: unknown) => void;
  /** Sessions observed at once; beyond that the oldest is let go of, and met anew with its next record. */
  readonly maxSessions?: number;
}

/** What a session is given so that it is observed; see `SessionOptions`. */
export interface SessionTap {
  readonly onCommit: (entries: readonly LogEntry[]) => void;
  readonly onEnd: (sessionId: string) => void;
}

const MAX_SESSIONS = 10_000;

export class Observation {
  readonly #audience: Audience;
  readonly #maxSessions: number;
  /** By log: sessions of two logs may have one name. */
  readonly #watches = new WeakMap<Log, BoundedMap<SessionWatch>>();
  readonly #readings = new Set<Promise<void>>();

  constructor(observers: readonly Observer[], { onError, maxSessions = MAX_SESSIONS }: ObservationOptions = {}) {
    this.#audience = new Audience(observers, onError);
    this.#maxSessions = maxSessions;
  }

  /** For all sessions of a log that this process opens. */
  tap(log: Log): SessionTap {
    if (this.#audience.observers.length === 0) return { onCommit: () => undefined, onEnd: () => undefined };
    const self = {};
    return {
      onCommit: (entries) => {
        const [first] = entries;
        if (first === undefined) return;
        const watch = this.#watch(log, first.record.envelope.session_id);
        watch.addTap(self);
        watch.take(entries);
      },
      onEnd: (sessionId) => {
        this.#watches.get(log)?.get(sessionId)?.removeTap(self);
        this.#forget(log, sessionId);
      },
    };
  }

  /** For one run of a session that was opened without: from before it starts to its end. Gives what stops it. */
  watchRun(
    session: {
      readonly log: Log;
      readonly sessionId: string;
      onCommit(listener: (entries: readonly LogEntry[]) => void): () => void;
    },
    runId: string,
  ): () => void {
    if (this.#audience.observers.length === 0) return () => undefined;
    const { log, sessionId } = session;
    const watch = this.#watch(log, sessionId);
    watch.addRun(runId);
    const unlisten = session.onCommit((entries) => watch.take(entries));
    let isStopped = false;
    return () => {
      if (isStopped) return;
      isStopped = true;
      unlisten();
      watch.removeRun(runId);
      this.#forget(log, sessionId);
    };
  }

  /** Call it where the run is asked for, in the caller's asynchronous context. */
  expectRun(run: ObservedRun & { readonly runId: string }): void {
    this.#audience.expectRun(run);
  }

  /** Resolves when nothing is being read from a log any more: wait for it before the log is closed. */
  async idle(): Promise<void> {
    while (this.#readings.size > 0) await Promise.all(this.#readings);
  }

  #watch(log: Log, sessionId: string): SessionWatch {
    let watches = this.#watches.get(log);
    if (watches === undefined) {
      watches = new BoundedMap<SessionWatch>(this.#maxSessions, (watch) => watch.end());
      this.#watches.set(log, watches);
    }
    return watches.getOrCreate(
      sessionId,
      () =>
        new SessionWatch({
          log,
          sessionId,
          audience: this.#audience,
          onReading: (reading) => {
            this.#readings.add(reading);
            void reading.finally(() => this.#readings.delete(reading));
          },
        }),
    );
  }

  #forget(log: Log, sessionId: string): void {
    const watches = this.#watches.get(log);
    if (watches?.get(sessionId)?.isUnused === true) watches.delete(sessionId);
  }
}
