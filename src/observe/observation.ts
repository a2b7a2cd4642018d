/**
 * Passes committed records of live sessions to observers, run by run. Observers cannot affect runs, and are called in
 * the asynchronous context in which the observation was created, not in that of the code that writes records.
 */
import { AsyncLocalStorage } from "node:async_hooks";
import type { Log, LogEntry } from "../log/log.ts";
import { LoomError } from "../protocol/index.ts";
import { assertLimit } from "./assert-limit.ts";
import { ObserverGroup } from "./observer-group.ts";
import { keyOfRun, type ObservedRun, type Observer } from "./observer.ts";
import { SessionWatch, type SessionWatchHost } from "./session-watch.ts";

/** Options of `Observation`. */
export interface ObservationOptions {
  /**
   * Receives the first error of each observer, errors of reading the log, and an error each time that there are too many
   * sessions.
   */
  readonly onError?: (error: unknown) => void;
  /**
   * Maximum sessions observed at once. Beyond that, a session without a live run is released; if there is none, the new
   * session is not observed and `too_many_open` is reported. Default: 10,000.
   */
  readonly maxSessions?: number;
}

/** Listeners that connect a session to an observation; part of `SessionOptions`. */
export interface SessionTap {
  readonly onCommit: (entries: readonly LogEntry[]) => void;
  readonly onEnd: (sessionId: string) => void;
}

/** Options of `Observation.tap`. */
export interface TapOptions {
  /** Whether to observe runs that another observation watches with `watchRun`. Default: true. */
  readonly includeWatchedRuns?: boolean;
}

/** A session whose runs can be watched. */
export interface WatchedSession {
  readonly log: Log;
  readonly sessionId: string;
  onCommit(listener: (entries: readonly LogEntry[]) => void): () => void;
}

const MAX_SESSIONS = 10_000;
/** Part of `maxSessions` below which there is room again. Lower than 1, so that not every session is reported. */
const ROOM = 0.9;
const INERT_TAP: SessionTap = { onCommit: () => undefined, onEnd: () => undefined };

/** Runs watched with `watchRun`, and the observation that does it. Removed when watching stops. */
const CLAIMS = new WeakMap<Log, Map<string, Observation>>();

/**
 * Connects sessions of this process to observers. Agents and servers create one from their `observers`; use it directly
 * to observe sessions opened without them.
 */
export class Observation {
  readonly #observers: ObserverGroup;
  readonly #maxSessions: number;
  readonly #inOwnContext = AsyncLocalStorage.snapshot();
  readonly #watches = new Set<SessionWatch>();
  /** Sessions without a live run. */
  readonly #idle = new Set<SessionWatch>();
  readonly #readings = new Set<Promise<void>>();
  /** Too many sessions were reported, and there has been no room since. */
  #isFull = false;

  constructor(observers: readonly Observer[], { onError, maxSessions = MAX_SESSIONS }: ObservationOptions = {}) {
    this.#observers = new ObserverGroup(observers, onError);
    this.#maxSessions = assertLimit("maxSessions", maxSessions, 1);
  }

  /** Returns listeners that observe all sessions of a log that this process opens. */
  tap(log: Log, { includeWatchedRuns = true }: TapOptions = {}): SessionTap {
    if (this.#observers.observers.length === 0) return INERT_TAP;
    const watches = new Map<string, SessionWatch>();
    const take = (entries: readonly LogEntry[]): void => {
      const [first] = entries;
      if (first === undefined) return;
      const { session_id: sessionId, event_id: id } = first.record.envelope;
      // Ids only increase, so this is a new session with the name of a deleted one.
      if (id <= (watches.get(sessionId)?.lastId ?? 0)) watches.get(sessionId)?.end();
      const watch =
        watches.get(sessionId) ??
        this.#open({
          log,
          sessionId,
          isAllNew: false,
          isWanted: (runId) => includeWatchedRuns || runId === undefined || this.#isUnclaimed(log, sessionId, runId),
          onEnd: () => watches.delete(sessionId),
        });
      if (watch === undefined) return;
      watches.set(sessionId, watch);
      watch.take(entries);
    };
    return {
      onCommit: (entries) => this.#inOwnContext(take, entries),
      onEnd: (sessionId) => this.#inOwnContext(() => watches.get(sessionId)?.end()),
    };
  }

  /**
   * Observes one run of a session that was opened without a tap, until the run ends. `isBegun` means that the run
   * started in this process and has not been observed yet. Returns a function that stops it.
   */
  watchRun(
    session: WatchedSession,
    runId: string,
    { isBegun = false }: { readonly isBegun?: boolean } = {},
  ): () => void {
    const { log, sessionId } = session;
    if (this.#observers.isObserved(log, { sessionId, runId })) return () => undefined;
    const watch = this.#open({
      log,
      sessionId,
      isAllNew: isBegun,
      isWanted: (id) => id === runId,
      onEnd: () => undefined,
    });
    if (watch === undefined) return () => undefined;
    // It has or will have a live run.
    this.#idle.delete(watch);
    const unclaim = this.claimRun(log, { sessionId, runId });
    const unlisten = session.onCommit((entries) => this.#inOwnContext(() => watch.take(entries)));
    return () => {
      unlisten();
      unclaim();
      this.#inOwnContext(() => watch.end());
    };
  }

  /** Claims a run without observing it, so that taps of other observations skip it. Returns a function that ends it. @internal */
  claimRun(log: Log, run: ObservedRun): () => void {
    let claims = CLAIMS.get(log);
    if (claims === undefined) CLAIMS.set(log, (claims = new Map<string, Observation>()));
    const key = keyOfRun(run);
    if (!claims.has(key)) claims.set(key, this);
    return () => {
      if (claims.get(key) === this) claims.delete(key);
    };
  }

  /** Announces a run. Call it in the asynchronous context of the caller that starts the run. */
  expectRun(run: ObservedRun & { readonly runId: string }): void {
    this.#observers.expectRun(run);
  }

  /** Resolves when no log is being read. Await it before closing the log. */
  async idle(): Promise<void> {
    while (this.#readings.size > 0) await Promise.all(this.#readings);
  }

  #open(host: Omit<SessionWatchHost, "observers" | "onReading" | "onBusy">): SessionWatch | undefined {
    if (this.#watches.size >= this.#maxSessions && !this.#makeRoom()) return undefined;
    const watch = new SessionWatch({
      ...host,
      observers: this.#observers,
      onReading: (reading) => {
        this.#readings.add(reading);
        void reading.finally(() => this.#readings.delete(reading));
      },
      onBusy: (isBusy) => {
        if (isBusy) this.#idle.delete(watch);
        else this.#idle.add(watch);
        this.#noteRoom();
      },
      onEnd: () => {
        this.#watches.delete(watch);
        this.#idle.delete(watch);
        this.#noteRoom();
        host.onEnd();
      },
    });
    this.#watches.add(watch);
    this.#idle.add(watch);
    return watch;
  }

  /** A session without a live run makes room when it is needed. */
  #noteRoom(): void {
    if (this.#watches.size - this.#idle.size < this.#maxSessions * ROOM) this.#isFull = false;
  }

  #makeRoom(): boolean {
    const [oldest] = this.#idle;
    oldest?.end();
    if (oldest !== undefined || this.#isFull) return oldest !== undefined;
    this.#isFull = true;
    const limit = this.#maxSessions;
    this.#observers.report(
      new LoomError(
        "too_many_open",
        `${limit} sessions are already being observed; new sessions are not observed until one ends`,
        { limit },
      ),
    );
    return false;
  }

  #isUnclaimed(log: Log, sessionId: string, runId: string): boolean {
    const owner = CLAIMS.get(log)?.get(keyOfRun({ sessionId, runId }));
    return owner === undefined || owner === this;
  }
}
