/**
 * Where a frame stands: which session and stream it says it is of, and its number there. Read before decoding, because
 * a decoder must be shown the frames in order. Knows the names of these few fields and nothing else of a dialect.
 */
import type { DialectName } from "../../dialects/index.ts";
import { type EventRecord, isJsonObject, type JsonObject, type RunStartEvent } from "../../protocol/index.ts";
import type { Numbered } from "./sequence.ts";

/** A frame, or a record that was decoded elsewhere, on its way in. */
export interface Incoming extends Numbered {
  readonly text: string;
  readonly frame: JsonObject | undefined;
  readonly record: EventRecord | undefined;
  readonly cursor: string | undefined;
}

/** The session a frame says it belongs to; undefined where it does not say. */
export function sessionOf(dialect: DialectName, frame: JsonObject): string | undefined {
  if (dialect === "loom") return textOf(frame["session_id"]);
  // In 004 a socket is of one session until another such frame; what other frames say of it is not to be trusted.
  if (dialect === "lumine") return frame["type"] === "session_id" ? textOf(frame["session_id"]) : undefined;
  if (dialect !== "engine" || frame["type"] !== "session_start") return undefined;
  return textOf(isJsonObject(frame["data"]) ? frame["data"]["session_id"] : frame["session_id"]);
}

/** The numbered stream within the session: one per request in `engine`, one in all elsewhere. */
export function streamOf(dialect: DialectName, frame: JsonObject): string {
  if (dialect !== "engine") return "";
  const { metadata, data, type } = frame;
  const named = isJsonObject(metadata) ? textOf(metadata["request_id"]) : undefined;
  if (named !== undefined || type !== "session_start") return named ?? "";
  return textOf(isJsonObject(data) ? data["request_id"] : undefined) ?? "";
}

/** The frame with its number; undefined where it has none, and is taken in the order of arrival. */
export function numberFrame(
  dialect: DialectName,
  frame: JsonObject,
  text: string,
  cursor: string | undefined,
): Incoming | undefined {
  if (dialect === "loom") {
    const { event_id, prev_event_id, type } = frame;
    if (!isNumber(event_id)) return undefined;
    return {
      number: event_id,
      previous: isNumber(prev_event_id) && prev_event_id < event_id ? prev_event_id : undefined,
      print: printOf(frame["ts"], frame),
      contiguous: type === "run_start" ? frame["contiguous"] === true : undefined,
      size: text.length,
      text,
      frame,
      record: undefined,
      cursor,
    };
  }
  if (dialect !== "engine") return undefined;
  const { metadata } = frame;
  if (!isJsonObject(metadata) || !isNumber(metadata["sequence"])) return undefined;
  return {
    number: metadata["sequence"],
    previous: undefined,
    print: printOf(metadata["timestamp"], isJsonObject(frame["data"]) ? frame["data"] : frame),
    contiguous: undefined,
    size: text.length,
    text,
    frame,
    record: undefined,
    cursor,
  };
}

/** A record with its number; undefined where it has none. */
export function numberRecord(record: EventRecord): Incoming | undefined {
  const { envelope, event } = record;
  if (!isNumber(envelope.event_id)) return undefined;
  const { event_id, prev_event_id } = envelope;
  return {
    number: event_id,
    previous: isNumber(prev_event_id) && prev_event_id < event_id ? prev_event_id : undefined,
    print: printOf(envelope.ts, event as JsonObject),
    contiguous: event.type === "run_start" ? (event as RunStartEvent).contiguous === true : undefined,
    // Not measured: what is held is bounded by its number as well.
    size: 256,
    text: "",
    frame: undefined,
    record,
    cursor: undefined,
  };
}

/**
 * Tells apart two frames with one number, cheaply: by their time, and by the length and beginning of what they say. Never
 * wrong about the same frame; nearly always right about another.
 */
export function printOf(ts: unknown, said: JsonObject): number {
  const text = said["content"] ?? said["arguments_delta"] ?? said["reply"] ?? said["run_id"] ?? said["id"];
  const time = typeof ts === "number" ? ts % 1e9 : 0;
  return typeof text === "string"
    ? time * 1e6 + (text.length % 1e4) * 100 + (text.charCodeAt(0) % 100 || 0)
    : time * 1e6;
}

function isNumber(value: unknown): value is number {
  return typeof value === "number" && Number.isSafeInteger(value) && value >= 0;
}

function textOf(value: unknown): string | undefined {
  return typeof value === "string" && value !== "" ? value : undefined;
}
