/**
 * Ends the stream of a run that was cancelled before it started. No record says so, so the frames are those of a run that
 * starts and is cancelled at once: clients see the end in their own form, and do not take it for a lost connection.
 */
import { type DialectName, DIALECTS } from "../../dialects/index.ts";
import { isLoomError } from "../../protocol/index.ts";
import type { EncoderOptions } from "../../dialects/dialect.ts";
import type { StampedRecord } from "../../protocol/record.ts";
import { Chunk } from "./chunk.ts";
import type { StreamReader } from "./stream-reader.ts";

interface UnstartedRun {
  readonly run: string;
  readonly dialect: DialectName;
  readonly encoderOptions?: EncoderOptions;
}

export function endUnstarted(reader: StreamReader, { run, dialect, encoderOptions }: UnstartedRun): StreamReader {
  const { session, cursor } = reader;
  const { sessionId } = session;
  return {
    session,
    cursor,
    resume: () => reader.resume(),
    close: (reason) => reader.close(reason),
    start(sink) {
      let isStarted = false;
      reader.start({
        ...(sink.mayWrite === undefined ? {} : { mayWrite: () => sink.mayWrite?.() ?? true }),
        write(chunk) {
          isStarted = true;
          return sink.write(chunk);
        },
        end(end) {
          if (isStarted || end.reason !== "error" || !isLoomError(end.error, "cancelled")) {
            sink.end(end);
            return;
          }
          const encoder = DIALECTS[dialect].createEncoder(encoderOptions);
          const texts = listRecords(sessionId, run, end.error.message).flatMap((record) => encoder.encode(record));
          const frames = texts.map((text) => ({ text, cursor: end.cursor }));
          sink.write(new Chunk({ session: sessionId, dialect }, frames, false));
          sink.end({ reason: "end", cursor: end.cursor });
        },
      });
    },
  };
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
