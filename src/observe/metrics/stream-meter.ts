/**
 * What a server tells of the streams it sends. A server has at most one meter; `joinStreamMeters` makes one of several.
 * It knows no transport and no log.
 */
import { doAll } from "../do-all.ts";
import { catchLater, isThenable } from "../shield.ts";

export interface StreamOpening {
  readonly transport: "http" | "control";
  readonly dialect: string;
  /**
   * `fresh`: from the beginning. `resume`: from a place the reader has come to. `gap`: a counted number of frames after a
   * place, and no more: what a receiver asks for that has missed some.
   */
  readonly kind: "fresh" | "resume" | "gap";
}

/**
 * `end`: all was sent that was asked for. `left`: the reader went away, or wants no more. `slow`: it did not read what it
 * asked for. `error`: the stream broke.
 */
export type StreamEnd = "end" | "left" | "slow" | "error";

export interface StreamMeter {
  /** A reader asked, and its place is good. */
  openStream(opening: StreamOpening): StreamTally;
  /** A reader asked for what it cannot have; `code` is one of ours. */
  refuseStream(code: string): void;
  /** A connection was closed since its reader did not read. It may have had any number of streams. */
  closeSlowReader(): void;
}

export interface StreamTally {
  /**
   * Frames were handed over. Bytes are those of their texts, without what the transport puts around them; those replayed
   * were in the log already when the stream was opened.
   */
  send(frames: number, bytes: number, replayedBytes: number): void;
  /** The last call, made once. */
  close(end: StreamEnd): void;
}

/** What one of them throws is thrown when the others were told, too. */
export function joinStreamMeters(...meters: readonly StreamMeter[]): StreamMeter {
  return {
    openStream(opening) {
      const tallies = meters.map((meter) => openTally(meter, opening));
      return {
        send: (frames, bytes, replayedBytes) => doAll(tallies, (tally) => tally.send(frames, bytes, replayedBytes)),
        close: (end) => doAll(tallies, (tally) => tally.close(end)),
      };
    },
    refuseStream: (code) => doAll(meters, (meter) => meter.refuseStream(code)),
    closeSlowReader: () => doAll(meters, (meter) => meter.closeSlowReader()),
  };
}

/** Of a meter that throws, one that throws the same when the stream is closed: the others must have theirs before. */
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
    catchLater(tally, () => undefined);
    return fail(new TypeError("a meter has to give its tally at once"));
  } catch (error) {
    return fail(error);
  }
}
