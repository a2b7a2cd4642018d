/** Streams for receiver tests: the golden runs in every dialect, and the sessions a receiver creates from frames. */
import { basename } from "node:path";
import { createReceiver, type Receiver, type ReceiverOptions } from "../../src/client/index.ts";
import type { SourceOptions } from "../../src/client/source.ts";
import { type DialectName, DIALECTS, type EncoderOptions } from "../../src/dialects/index.ts";
import type { StampedRecord } from "../../src/protocol/index.ts";
import { FORMS, frameText, listVectorFiles, readVector } from "../vectors.ts";

export type SessionView = ReturnType<Receiver["getSnapshot"]>["sessions"][number];

/** Golden runs whose sender promised contiguous IDs. */
export const CONTIGUOUS_RUNS = listVectorFiles("runs")
  .map((file) => basename(file, ".json"))
  .filter((name) => framesOf(name, "loom").some((text) => text.includes('"contiguous":true')));

export function framesOf(run: string, form: string): string[] {
  const file = listVectorFiles("runs").find((path) => basename(path, ".json") === run) as string;
  const vector = readVector(file);
  return form === vector.dialect
    ? vector.frames.map(frameText)
    : (vector.encodings[form] as readonly (readonly unknown[])[]).flat().map(frameText);
}

export function dialectOf(form: string): DialectName {
  return (FORMS[form] as (typeof FORMS)[string]).dialect;
}

export function encodeRecords(
  records: readonly StampedRecord[],
  dialect: DialectName,
  options: EncoderOptions = {},
): string[] {
  const encoder = DIALECTS[dialect].createEncoder(options);
  return records.flatMap((record) => encoder.encode(record));
}

/** Returns all sessions of a receiver after these frames and the end of the source. */
export function receive(
  texts: readonly string[],
  options: SourceOptions = {},
  receiverOptions: ReceiverOptions = {},
): readonly SessionView[] {
  const receiver = createReceiver(receiverOptions);
  const source = receiver.open(options);
  for (const text of texts) source.push(text);
  source.end();
  return receiver.getSnapshot().sessions;
}

/** Returns the content without stream state and issues. */
export function contentOf(sessions: readonly SessionView[]): unknown {
  return sessions.map(({ id, turns, todoLists, others, earlierTurns }) => ({
    id,
    turns,
    todoLists,
    others,
    earlierTurns,
  }));
}

export function isComplete(sessions: readonly SessionView[]): boolean {
  return sessions.length > 0 && sessions.every(({ state }) => state.status === "complete");
}

export function isVerified(sessions: readonly SessionView[]): boolean {
  return sessions.length > 0 && sessions.every(({ state }) => state.verified);
}
