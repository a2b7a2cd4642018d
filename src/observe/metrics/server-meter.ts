/**
 * The interfaces through which a server reports itself: its store, what its parts hold, who signs in, and the streams it
 * sends. A server has at most one stream meter; `joinStreamMeters` combines several.
 */
import type { LogMonitor } from "../../log/log-monitor.ts";
import { callAll, catchRejection, isThenable } from "../shield.ts";

/** How a request authenticated: `user` by the application's own login, `none` has no credential. */
export type CredentialKind = "token" | "jwt" | "user" | "share" | "ticket" | "cookie" | "none";

/**
 * `anonymous`: the request has no credential. `limited`: too many requests or invalid credentials. `failed`: the
 * credential could not be checked.
 */
export type AuthenticationOutcome = "accepted" | "anonymous" | "rejected" | "limited" | "failed";

/** What a server reports when it is asked. */
export interface ServerGauges {
  /** Monitor of its log; undefined if the log has none. */
  readonly log: LogMonitor | undefined;
  /** Bytes that a part of the server holds in memory now, by name of the part. A part is added here. */
  readonly heldBytes: { readonly [part: string]: () => number };
  /** Sessions this process holds, and open WebSockets. */
  readonly heldSessions: () => number;
  readonly openSockets: () => number;
}

/** Receives the state of a server. */
export interface ServerMeter {
  /** A server was created. It is read with every scrape until the returned function is called. */
  watchServer(server: ServerGauges): () => void;
  /** A request was authenticated, or not. Not called if authentication is off. */
  countAuthentication(kind: CredentialKind, outcome: AuthenticationOutcome): void;
  /** The store cannot be written any more, with this error code. */
  countStoreFault(code: string): void;
  /** An entry of the audit log could not be written. */
  countAuditFailure(): void;
}

/** How a stream was opened. */
export interface StreamOpening {
  readonly transport: "http" | "control";
  readonly dialect: string;
  /**
   * `fresh`: from the start. `resume`: from a cursor of the client. `gap`: a limited number of frames after a cursor,
   * which a receiver requests when it has missed some.
   */
  readonly kind: "fresh" | "resume" | "gap";
}

/**
 * `end`: everything requested was sent. `left`: the client disconnected or unsubscribed. `slow`: the client did not
 * read. `error`: the stream failed.
 */
export type StreamEnd = "end" | "left" | "slow" | "error";

/** Receives the streams of a server. */
export interface StreamMeter {
  /** A client opened a stream with a valid cursor. */
  openStream(opening: StreamOpening): StreamTally;
  /** A stream request was rejected with this error code. */
  refuseStream(code: string): void;
  /** A connection was closed because the client did not read. It may have had any number of streams. */
  closeSlowReader(): void;
}

/** Receives what is sent on one stream. */
export interface StreamTally {
  /**
   * Frames were sent. `bytes` is their size without transport overhead; `replayedBytes` is the part that was already in
   * the log when the stream was opened.
   */
  send(frames: number, bytes: number, replayedBytes: number): void;
  /** The last call, made once. */
  close(end: StreamEnd): void;
}

/**
 * Combines several meters into one. If one of them throws, the others are still called, and the error is thrown
 * afterwards.
 *
 * ```ts
 * createEventsHandler({ log, meter: joinStreamMeters(metrics, await createPrometheusObserver()) });
 * ```
 */
export function joinStreamMeters(...meters: readonly StreamMeter[]): StreamMeter {
  return {
    openStream(opening) {
      const tallies = meters.map((meter) => openTally(meter, opening));
      return {
        send: (frames, bytes, replayedBytes) => callAll(tallies, (tally) => tally.send(frames, bytes, replayedBytes)),
        close: (end) => callAll(tallies, (tally) => tally.close(end)),
      };
    },
    refuseStream: (code) => callAll(meters, (meter) => meter.refuseStream(code)),
    closeSlowReader: () => callAll(meters, (meter) => meter.closeSlowReader()),
  };
}

/**
 * For a meter that fails to open, returns a tally that throws the error on close, after the other meters were called.
 */
function openTally(meter: StreamMeter, opening: StreamOpening): StreamTally {
  const fail = (error: unknown): StreamTally => ({
    send: () => undefined,
    close: () => {
      throw error;
    },
  });
  let tally: StreamTally | undefined;
  try {
    tally = meter.openStream(opening);
    if (!isThenable(tally)) return tally;
    catchRejection(tally, () => undefined);
    return fail(new TypeError("openStream of a stream meter must return its tally synchronously, not a promise"));
  } catch (error) {
    return fail(error);
  }
}
