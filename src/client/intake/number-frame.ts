/**
 * Reads the session, stream and number of a frame before it is decoded, because decoders need frames in order. Knows
 * only these few fields of each dialect.
 */
import type { DialectName } from "../../dialects/index.ts";
import { type EventRecord, isJsonObject, type JsonObject, type RunStartEvent } from "../../protocol/index.ts";
import type { Numbered } from "./sequence.ts";

/** A received frame, or a record decoded elsewhere, with its number. */
export interface IncomingFrame extends Numbered {
  readonly text: string;
  readonly frame: JsonObject | undefined;
  readonly record: EventRecord | undefined;
  readonly cursor: string | undefined;
}

/** Returns the session the frame names, or undefined. */
export function readSessionId(dialect: DialectName, frame: JsonObject): string | undefined {
  if (dialect === "loom") return textOf(frame["session_id"]);
  // In 004 a socket belongs to one session until the next session_id frame; other frames are not reliable.
  if (dialect === "lumine") return frame["type"] === "session_id" ? textOf(frame["session_id"]) : undefined;
  if (dialect !== "engine" || frame["type"] !== "session_start") return undefined;
  return textOf(isJsonObject(frame["data"]) ? frame["data"]["session_id"] : frame["session_id"]);
}

/** Returns the key of the numbered stream: the request ID in `engine`, the empty string in other dialects. */
export function readStreamKey(dialect: DialectName, frame: JsonObject): string {
  if (dialect !== "engine") return "";
  const { metadata, data, type } = frame;
  const named = isJsonObject(metadata) ? textOf(metadata["request_id"]) : undefined;
  if (named !== undefined || type !== "session_start") return named ?? "";
  return textOf(isJsonObject(data) ? data["request_id"] : undefined) ?? "";
}

/** Returns the frame with its number, or undefined if it has none and is taken in order of arrival. */
export function numberFrame(
  dialect: DialectName,
  frame: JsonObject,
  text: string,
  cursor: string | undefined,
): IncomingFrame | undefined {
  if (dialect === "loom") {
    const { event_id, prev_event_id, type } = frame;
    if (!isNumber(event_id)) return undefined;
    return {
      number: event_id,
      previous: isNumber(prev_event_id) && prev_event_id < event_id ? prev_event_id : undefined,
      fingerprint: computeFingerprint(frame["ts"], frame),
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
    fingerprint: computeFingerprint(metadata["timestamp"], isJsonObject(frame["data"]) ? frame["data"] : frame),
    contiguous: undefined,
    size: text.length,
    text,
    frame,
    record: undefined,
    cursor,
  };
}

/** Returns the record with its number, or undefined if it has none. */
export function numberRecord(record: EventRecord): IncomingFrame | undefined {
  const { envelope, event } = record;
  if (!isNumber(envelope.event_id)) return undefined;
  const { event_id, prev_event_id } = envelope;
  return {
    number: event_id,
    previous: isNumber(prev_event_id) && prev_event_id < event_id ? prev_event_id : undefined,
    fingerprint: computeFingerprint(envelope.ts, event as JsonObject),
    contiguous: event.type === "run_start" ? (event as RunStartEvent).contiguous === true : undefined,
    // An estimate; the number of held records is limited too.
    size: 256,
    text: "",
    frame: undefined,
    record,
    cursor: undefined,
  };
}

/**
 * Computes a cheap fingerprint from the time and from the length and first character of the content. Equal frames
 * always have equal fingerprints; different frames nearly always have different ones.
 */
export function computeFingerprint(ts: unknown, payload: JsonObject): number {
  const text =
    payload["content"] ?? payload["arguments_delta"] ?? payload["reply"] ?? payload["run_id"] ?? payload["id"];
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
