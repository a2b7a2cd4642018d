/** Readers made from another reader: with other frames, more frames, or the first frames held back. */
import { type DialectName, DIALECTS } from "../../dialects/index.ts";
import type { EncoderOptions } from "../../dialects/dialect.ts";
import type { StreamFrame } from "../../log/index.ts";
import { isLoomError } from "../../protocol/index.ts";
import type { StampedRecord } from "../../protocol/record.ts";
import { FrameBatch, type BatchOrigin } from "./frame-batch.ts";
import type { ReaderEnd, Sink, StreamReader } from "./stream-reader.ts";

function wrapReader(reader: StreamReader, own: Pick<StreamReader, "start"> & Partial<StreamReader>): StreamReader {
  const { session, cursor } = reader;
  return { session, cursor, resume: () => reader.resume(), close: (reason) => reader.close(reason), ...own };
}

function wrapSink(sink: Sink, own: Pick<Sink, "write"> & Partial<Sink>): Sink {
  const room = sink.mayWrite === undefined ? {} : { mayWrite: () => sink.mayWrite?.() ?? true };
  return { ...room, end: (end) => sink.end(end), ...own };
}

/** Returns the frames to send instead, which may be the same list. With `isLast` the stream ends after them. */
export type MapFrames = (frames: readonly StreamFrame[]) => {
  readonly frames: readonly StreamFrame[];
  readonly isLast: boolean;
};

/**
 * Changes the frames of a reader on their way to its sink, and can end the stream before the reader would. For endpoints
 * whose clients expect less, or more, than the frames of a dialect.
 */
export function mapReader(reader: StreamReader, mapFrames: MapFrames): StreamReader {
  return wrapReader(reader, {
    start: (sink) =>
      reader.start(
        wrapSink(sink, {
          write(batch) {
            const { frames, isLast } = mapFrames(batch.frames);
            const isSame = frames === batch.frames;
            const hasRoom =
              frames.length === 0 || sink.write(isSame ? batch : new FrameBatch(batch.origin, frames, batch.mayEndRun));
            if (isLast) reader.close("end");
            return hasRoom;
          },
        }),
      ),
  });
}

/** Sends frames before those of a reader. They have no cursor: a client that resumes does not receive them again. */
export function leadReader(
  reader: StreamReader,
  texts: readonly string[],
  dialect: BatchOrigin["dialect"],
): StreamReader {
  if (texts.length === 0) return reader;
  let waiting: Sink | undefined;
  return wrapReader(reader, {
    start(sink) {
      const frames = texts.map((text) => ({ text, cursor: "" }));
      const origin = { session: reader.session.sessionId, dialect };
      if (sink.write(new FrameBatch(origin, frames, false))) reader.start(sink);
      else waiting = sink;
    },
    resume() {
      const sink = waiting;
      waiting = undefined;
      if (sink === undefined) reader.resume();
      else reader.start(sink);
    },
  });
}

/**
 * Holds the first frames of a reader back until the response can be chosen: a stream has only one chance to send a status.
 * Afterwards the frames are delivered as if they had not been held.
 *
 * Starts the reader, and resolves to a reader with the same frames as soon as `isDecided` returns true for one of them, the
 * reader ends, or `maxMs` have passed. Rejects with what `isDecided` throws, and with the error of a stream that fails.
 */
export async function holdReader(
  reader: StreamReader,
  { isDecided, maxMs }: { readonly isDecided: (text: string) => boolean; readonly maxMs: number },
): Promise<StreamReader> {
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  const held: FrameBatch[] = [];
  let sink: Sink | undefined;
  let end: ReaderEnd | undefined;
  const hold = (batch: FrameBatch): boolean => {
    held.push(batch);
    try {
      if (!batch.frames.some(({ text }) => isDecided(text))) return true;
      resolve();
    } catch (error) {
      reject(error);
      reader.close("end");
    }
    return false;
  };
  const timer = setTimeout(resolve, maxMs);
  reader.start({
    mayWrite: () => sink?.mayWrite?.() ?? true,
    write: (batch) => (sink === undefined ? hold(batch) : sink.write(batch)),
    end(given) {
      if (sink !== undefined) {
        sink.end(given);
        return;
      }
      end = given;
      if (given.reason === "error") reject(given.error);
      resolve();
    },
  });
  try {
    await promise;
  } finally {
    clearTimeout(timer);
  }
  return wrapReader(reader, {
    start(given) {
      sink = given;
      const hasRoom = held.splice(0).map((batch) => given.write(batch));
      if (end !== undefined) given.end(end);
      else if (hasRoom.at(-1) !== false) reader.resume();
    },
  });
}

interface UnstartedRun {
  readonly run: string;
  readonly dialect: DialectName;
  readonly encoderOptions?: EncoderOptions;
}

/**
 * Ends the stream of a run that was cancelled before it started. No record says so, so the frames are those of a run that
 * starts and is cancelled at once: clients see the end in their own form, and do not take it for a lost connection.
 */
export function endUnstarted(reader: StreamReader, { run, dialect, encoderOptions }: UnstartedRun): StreamReader {
  const { sessionId } = reader.session;
  return wrapReader(reader, {
    start(sink) {
      let isStarted = false;
      reader.start(
        wrapSink(sink, {
          write(batch) {
            isStarted = true;
            return sink.write(batch);
          },
          end(end) {
            if (isStarted || end.reason !== "error" || !isLoomError(end.error, "cancelled")) {
              sink.end(end);
              return;
            }
            const encoder = DIALECTS[dialect].createEncoder(encoderOptions);
            const texts = listRecords(sessionId, run, end.error.message).flatMap((record) => encoder.encode(record));
            const frames = texts.map((text) => ({ text, cursor: end.cursor }));
            sink.write(new FrameBatch({ session: sessionId, dialect }, frames, false));
            sink.end({ reason: "end", cursor: end.cursor });
          },
        }),
      );
    },
  });
}

function listRecords(session_id: string, run_id: string, reason: string): readonly StampedRecord[] {
  const envelope = { session_id, run_id, ts: Date.now() };
  return [
    { envelope: { ...envelope, event_id: 1 }, event: { type: "run_start", run_id } },
    {
      envelope: { ...envelope, event_id: 2 },
      event: { type: "run_end", status: "cancelled", reason, has_reply: true },
    },
    { envelope: { ...envelope, event_id: 3 }, event: { type: "reply", reply: "" } },
  ];
}
