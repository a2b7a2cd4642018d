/**
 * Converts the records of one run to callback payloads: its StreamEvent frames without the fields for streams only,
 * plus the caller's context.
 */
import { findStreamEventFrameForm, type StreamEventFrame } from "../../dialects/stream-event/frames.generated.ts";
import { createStreamEventProjection } from "../../dialects/stream-event/project.ts";
import type { EventOf, JsonObject, StampedRecord } from "../../protocol/index.ts";
import { isJsonObject } from "../../protocol/json.ts";
import type { CallbackPayload } from "./callback.ts";

const NOTHING: readonly CallbackPayload[] = [];

export type ProjectPayloads = (record: StampedRecord) => readonly CallbackPayload[];

/** `text` includes `text_delta`. */
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
  // Frames of imported streams can have types that specification 002 does not define.
  if (findStreamEventFrameForm(frame.type) === undefined) return NOTHING;
  const { metadata: _metadata, request_id = envelope.session_id, ...fields } = showEnd(frame);
  // Its error was delivered before.
  if (fields.type === "agent_finish" && fields.status === "error") return NOTHING;
  return [{ ...fields, request_id, ...(context === undefined ? {} : { context }) }];
}

/** Callbacks receive `agent_finish` for answers only (002): a cancelled run is an error. */
function showEnd(frame: StreamEventFrame): StreamEventFrame {
  if (frame.type !== "agent_finish" || frame.status !== "cancelled") return frame;
  const { content: _content, status: stage, ...common } = frame;
  return { ...common, type: "error", stage, message: "The run was cancelled" };
}

function readContext({ event }: StampedRecord): JsonObject | undefined {
  const { context } = event as EventOf<"run_start">;
  return isJsonObject(context) ? context : undefined;
}
