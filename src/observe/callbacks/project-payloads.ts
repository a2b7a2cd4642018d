/**
 * The records of one run as payloads of callbacks: its StreamEvents, less what 002 gives to streams alone, and with the
 * caller's context.
 */
import { findStreamEventFrameForm, type StreamEventFrame } from "../../dialects/stream-event/frames.generated.ts";
import { createStreamEventProjection } from "../../dialects/stream-event/project.ts";
import { type EventOf, isJsonObject, type JsonObject, type StampedRecord } from "../../protocol/index.ts";
import type { CallbackPayload } from "./callback.ts";

const NOTHING: readonly CallbackPayload[] = [];

export type ProjectPayloads = (record: StampedRecord) => readonly CallbackPayload[];

/** `text`: with `text_delta`. */
export function createPayloadProjection(text: boolean): ProjectPayloads {
  const projection = createStreamEventProjection({ text });
  let context: JsonObject | undefined;
  return (record) => {
    if (record.event.type === "run_start") context = readContext(record);
    const frames = projection.project(record);
    return frames.length === 0 ? NOTHING : frames.flatMap((frame) => createPayload(frame, record, context));
  };
}

function createPayload(
  frame: StreamEventFrame,
  { envelope }: StampedRecord,
  context: JsonObject | undefined,
): readonly CallbackPayload[] {
  // A frame that came from elsewhere, of a type that is none of 002's.
  if (findStreamEventFrameForm(frame.type) === undefined) return NOTHING;
  const { metadata: _metadata, request_id = envelope.session_id, ...fields } = frame;
  return [{ ...fields, request_id, ...(context === undefined ? {} : { context }) }];
}

function readContext({ event }: StampedRecord): JsonObject | undefined {
  const { context } = event as EventOf<"run_start">;
  return isJsonObject(context) ? context : undefined;
}
