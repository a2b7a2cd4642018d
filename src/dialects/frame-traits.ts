/**
 * What a receiver must know about a frame before it is decoded, because decoders need frames in order: the session, the
 * stream and the number of the frame. Each dialect states it beside its decoder; receivers know no dialect by name.
 */
import type { JsonObject } from "../protocol/json.ts";

/** How the frames of a dialect are assigned to sessions and put in order. */
export interface FrameTraits {
  /**
   * Returns the session that the frame names, or undefined. `isFirst` is true if the session of the frames before is
   * not known, so a less reliable field may be used.
   */
  readSession(frame: JsonObject, isFirst: boolean): string | undefined;
  /**
   * Session of a frame that names none: the default session of its source, the session of the frames before it
   * (`current`), or the session that the first frame of its stream names (`stream`).
   */
  readonly unnamed: "default" | "current" | "stream";
  /** Defined if the frames of a session form streams, such as one per request. */
  readonly streams?: FrameStreams;
  /** Defined if frames have numbers. Frames without a number are taken in order of arrival, from a single source. */
  readonly numbering?: FrameNumbering;
  /** A text that is not JSON and ends a run, such as `[DONE]`. Any other text that is not JSON is noise. */
  readonly endText?: string;
}

/** Streams within a session. Each has its own numbers, so turns of different streams are ordered by time. */
export interface FrameStreams {
  /** Returns the key of the stream, such as a request ID; the empty string if the frame has none. */
  readKey(frame: JsonObject): string;
  /** True for the first frame of a stream. After the end of a stream, it starts another one with the same key. */
  isStart(frame: JsonObject): boolean;
  /** True for the last frame of a stream. */
  isEnd(frame: JsonObject): boolean;
}

/** Numbers of frames. Without `streams` there is one series per session. */
export interface FrameNumbering {
  /** True if the numbers are event IDs. A number is then also a position in the log, and may be used to resume. */
  readonly isEventId: boolean;
  /** The first number of each stream, if it is always the same. All numbers then increase by 1. */
  readonly first?: number;
  /** Returns the number of the frame, or undefined if it has none. */
  readNumber(frame: JsonObject): FrameNumber | undefined;
  /**
   * True for a frame without a number that is not a record where numbers increase by exactly 1: the reply that ends a
   * failed run in strict form.
   */
  isUncounted?(frame: JsonObject): boolean;
}

/** The number of a frame, and how it relates to others. */
export interface FrameNumber {
  readonly number: number;
  /** The preceding number, if the sender states it; otherwise `number - 1`. */
  readonly previous: number | undefined;
  /** Distinguishes two different frames with the same number. */
  readonly fingerprint: number;
  /**
   * Set on the first frame of a section: true if its numbers increase by exactly 1, false if they may jump. Undefined
   * within a section.
   */
  readonly contiguous: boolean | undefined;
}

/** Traits of frames that have neither a session nor a number. */
export const PLAIN_FRAMES: FrameTraits = { readSession: () => undefined, unnamed: "current" };

/**
 * Computes a cheap fingerprint from the time and the beginning of the content. Equal frames always have equal
 * fingerprints; different frames nearly always have different ones, even without a time, which 001 does not have.
 */
export function computeFingerprint(ts: unknown, payload: JsonObject): number {
  // Only `run_start` has the run ID in its payload. Elsewhere it is in the envelope, which a record has separately.
  const name = payload["type"] === "run_start" ? (payload["run_id"] ?? payload["message"]) : payload["id"];
  const text = payload["content"] ?? payload["arguments_delta"] ?? payload["reply"] ?? name;
  const time = typeof ts === "number" ? ts % 1e9 : 0;
  let hash = 0;
  if (typeof text === "string") {
    hash = text.length;
    for (let at = Math.min(hash, 64); at-- > 0;) hash = Math.imul(hash, 31) + text.charCodeAt(at);
  }
  // 30 bits of time and 22 bits of content, an integer that a number represents exactly.
  return time * 2 ** 22 + (hash & 0x3fffff);
}

/** Returns the number of an event, its event ID, or undefined if it has none. */
export function numberEvent(
  { event_id, prev_event_id, ts }: { readonly [K in "event_id" | "prev_event_id" | "ts"]?: unknown },
  event: JsonObject,
): FrameNumber | undefined {
  if (!isCount(event_id)) return undefined;
  return {
    number: event_id,
    previous: isCount(prev_event_id) && prev_event_id < event_id ? prev_event_id : undefined,
    fingerprint: computeFingerprint(ts, event),
    contiguous: event["type"] === "run_start" ? event["contiguous"] === true : undefined,
  };
}

/** True for an integer from 0 that a number can represent exactly. */
export function isCount(value: unknown): value is number {
  return Number.isSafeInteger(value) && (value as number) >= 0;
}

/** Returns the value if it is a string, otherwise the empty text. */
export function textOf(value: unknown): string {
  return typeof value === "string" ? value : "";
}

/** Returns the value if it is a string that is not empty. */
export function readText(value: unknown): string | undefined {
  return typeof value === "string" && value !== "" ? value : undefined;
}
