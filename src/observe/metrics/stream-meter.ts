/**
 * The interface through which a server reports the streams it sends. A server has at most one meter; `joinStreamMeters`
 * combines several.
 */
import { callAll } from "../call-all.ts";
import { catchRejection, isThenable } from "../shield.ts";

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
