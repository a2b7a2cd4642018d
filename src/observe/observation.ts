/**
 * Brings committed records to observers, run by run, live from the sessions of this process. It stands between runs and
 * those who look at them: nothing an observer does reaches the run, and nothing of whoever happens to write a record
 * reaches the observer: it is called in the asynchronous context in which the observation was made.
 */
import { AsyncLocalStorage } from "node:async_hooks";
import type { Log, LogEntry } from "../log/log.ts";
import { LoomError } from "../protocol/index.ts";
import { assertLimit } from "./assert-limit.ts";
import { Audience } from "./audience.ts";
import { keyOfRun, type ObservedRun, type Observer } from "./observer.ts";
import { SessionWatch, type SessionWatchHost } from "./session-watch.ts";

export interface ObservationOptions {
  /** Told of what observers throw, once per observer, of a log that cannot be read, and once of too many sessions. */
  readonly onError?: (error: unknown) => void;
  /**
   * Sessions observed at once; 10,000 when absent. Beyond that one without a live run makes room; where there is none, the
   * new one is not observed (`too_many_open`).
   */
  readonly maxSessions?: number;
}

/** What a session is given so that it is observed; see `SessionOptions`. */
export interface SessionTap {
  readonly onCommit: (entries: readonly LogEntry[]) => void;
  readonly onEnd: (sessionId: string) => void;
}

export interface TapOptions {
  /** False passes over runs that somebody else watches by themselves, with `watchRun`. */
  readonly others?: boolean;
}

/** What a run is watched by: its session, say. */
export interface WatchedSession {
  readonly log: Log;
  readonly sessionId: string;
  onCommit(listener: (entries: readonly LogEntry[]) => void): () => void;
}

const MAX_SESSIONS = 10_000;
const INERT_TAP: SessionTap = { onCommit: () => undefined, onEnd: () => undefined };

/** Runs that are watched by themselves, and by whom. An entry goes when the watching stops. */
const CLAIMS = new WeakMap<Log, Map<string, Observation>>();

export class Observation {
  readonly #audience: Audience;
  readonly #maxSessions: number;
  readonly #inOwnContext = AsyncLocalStorage.snapshot();
  readonly #watches = new Set<SessionWatch>();
  /** Those without a live run. */
  readonly #idle = new Set<SessionWatch>();
  readonly #readings = new Set<Promise<void>>();
  #isFull = false;

  constructor(observers: readonly Observer[], { onError, maxSessions = MAX_SESSIONS }: ObservationOptions = {}) {
    this.#audience = new Audience(observers, onError);
    this.#maxSessions = assertLimit("maxSessions", maxSessions, 1);
  }

  /** For all sessions of a log that this process opens. */
  tap(log: Log, { others = true }: TapOptions = {}): SessionTap {
    if (this.#audience.observers.length === 0) return INERT_TAP;
    const watches = new Map<string, SessionWatch>();
    const take = (entries: readonly LogEntry[]): void => {
      const [first] = entries;
      if (first === undefined) return;
      const { session_id: sessionId, event_id: id } = first.record.envelope;
      // Ids only grow: this is another session, made anew under the name of one that was deleted.
      if (id <= (watches.get(sessionId)?.lastId ?? 0)) watches.get(sessionId)?.end();
      const watch =
        watches.get(sessionId) ??
        this.#open({
          log,
          sessionId,
          isAllNew: false,
          isWanted: (runId) => others || runId === undefined || this.#isFree(log, sessionId, runId),
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
   * For one run of a session that was opened without: to its end. `isBegun`: it was begun in this process before, and
   * nothing of it was shown. Gives what stops it.
   */
  watchRun(session: WatchedSession, runId: string, { isBegun = false } = {}): () => void {
    const { log, sessionId } = session;
    if (this.#audience.isShown(log, { sessionId, runId })) return () => undefined;
    const watch = this.#open({
      log,
      sessionId,
      isAllNew: isBegun,
      isWanted: (id) => id === runId,
      onEnd: () => undefined,
    });
    if (watch === undefined) return () => undefined;
    // It has a live run, or will have one.
    this.#idle.delete(watch);
    const unclaim = this.#claim(log, sessionId, runId);
    const unlisten = session.onCommit((entries) => this.#inOwnContext(() => watch.take(entries)));
    return () => {
      unlisten();
      unclaim();
      this.#inOwnContext(() => watch.end());
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

  #open(host: Omit<SessionWatchHost, "audience" | "onReading" | "onBusy">): SessionWatch | undefined {
    if (this.#watches.size >= this.#maxSessions && !this.#makeRoom()) return undefined;
    const watch = new SessionWatch({
      ...host,
      audience: this.#audience,
      onReading: (reading) => {
        this.#readings.add(reading);
        void reading.finally(() => this.#readings.delete(reading));
      },
      onBusy: (isBusy) => void (isBusy ? this.#idle.delete(watch) : this.#idle.add(watch)),
      onEnd: () => {
        this.#watches.delete(watch);
        this.#idle.delete(watch);
        host.onEnd();
      },
    });
    this.#watches.add(watch);
    this.#idle.add(watch);
    return watch;
  }

  #makeRoom(): boolean {
    const [oldest] = this.#idle;
    oldest?.end();
    if (oldest !== undefined || this.#isFull) return oldest !== undefined;
    this.#isFull = true;
    const limit = this.#maxSessions;
    this.#audience.report(new LoomError("too_many_open", `${limit} sessions are observed already`, { limit }));
    return false;
  }

  #claim(log: Log, sessionId: string, runId: string): () => void {
    let claims = CLAIMS.get(log);
    if (claims === undefined) CLAIMS.set(log, (claims = new Map<string, Observation>()));
    const key = keyOfRun({ sessionId, runId });
    if (!claims.has(key)) claims.set(key, this);
    return () => {
      if (claims.get(key) === this) claims.delete(key);
    };
  }

  #isFree(log: Log, sessionId: string, runId: string): boolean {
    const owner = CLAIMS.get(log)?.get(keyOfRun({ sessionId, runId }));
    return owner === undefined || owner === this;
  }
}
