/**
 * The cursor of a stream: an opaque string that a client sends back to resume. It names the last frame received (its
 * record and the frame's index in that record), the version of the encoders that counted the frames, and the session.
 *
 * `3.pX3kQ9_a.12.0` is frame 0 of record 12, with more frames of that record to come; `3.pX3kQ9_a.12` is the end of
 * record 12. The last frame of a record uses the second form, which stays valid when the record itself is pruned. A
 * cursor contains only letters, digits, `-`, `_` and `.`, so it fits into a URL and the `id:` of a server-sent event.
 */
import { createHash } from "node:crypto";
import { LoomError } from "../protocol/index.ts";

/**
 * Version of the frame encoders. Increase it with every change that gives the same records different frames in any
 * dialect: other bytes, another number of frames, or frames sent at another record. Older cursors are then rejected
 * instead of misread.
 */
export const ENCODER_VERSION = 6;

/** Maximum length of a cursor in characters; valid cursors are shorter. Longer ones throw `cursor_invalid`. */
export const MAX_CURSOR_LENGTH = 64;

/** A parsed cursor. */
export interface Cursor {
  /** Hash of the session's incarnation, see `tagOf`. */
  readonly tag: string;
  /** ID of the last record received. */
  readonly eventId: number;
  /** Index of the frame in its record; undefined for the end of the record. */
  readonly frame: number | undefined;
}

/** Returns a function that formats cursors of one session. */
export function createCursorFormat(incarnation: string): (eventId: number, frame?: number) => string {
  const head = `${ENCODER_VERSION}.${tagOf(incarnation)}.`;
  return (eventId, frame) => (frame === undefined ? `${head}${eventId}` : `${head}${eventId}.${frame}`);
}

/** Formats the cursor of a frame, or of the end of a record if `frame` is absent. */
export function formatCursor(incarnation: string, eventId: number, frame?: number): string {
  return createCursorFormat(incarnation)(eventId, frame);
}

const SHAPE = /^(\d+)\.([\w.-]+)$/;
const BODY = /^([\w-]{8})\.(\d+)(?:\.(\d+))?$/;

/**
 * Parses a cursor. Throws `cursor_invalid` if `text` is not a cursor, and `cursor_stale` if it comes from another
 * version of the encoders.
 */
export function parseCursor(text: unknown): Cursor {
  if (typeof text !== "string") throw invalid(`A cursor must be a string, not ${text === null ? "null" : typeof text}`);
  if (text.length > MAX_CURSOR_LENGTH)
    throw invalid(`A cursor has at most ${MAX_CURSOR_LENGTH} characters, not ${text.length}`);
  const [, version, body] = SHAPE.exec(text) ?? [];
  if (version === undefined || body === undefined) throw invalid("Not a valid cursor");
  // Checked before the body, whose format may differ in another version.
  if (Number(version) !== ENCODER_VERSION)
    throw new LoomError(
      "cursor_stale",
      `The cursor has version ${version}, not ${ENCODER_VERSION}; read the session from the start`,
      {
        version: ENCODER_VERSION,
      },
    );
  const [, tag, eventId, frame] = BODY.exec(body) ?? [];
  if (tag === undefined || eventId === undefined) throw invalid("Not a valid cursor");
  const cursor = {
    tag,
    eventId: readNumber(eventId, "a record"),
    frame: frame === undefined ? undefined : readNumber(frame, "a frame"),
  };
  if (cursor.frame !== undefined && cursor.eventId === 0) throw invalid("A cursor cannot name a frame of record 0");
  return cursor;
}

/** Throws `cursor_stale` unless the cursor belongs to this incarnation of the session. */
export function assertCursorOf(sessionId: string, incarnation: string, { tag }: Cursor): void {
  if (tag !== tagOf(incarnation))
    throw new LoomError(
      "cursor_stale",
      `The cursor belongs to a deleted session "${sessionId}"; read the new session from the start`,
      {
        session_id: sessionId,
      },
    );
}

/** Whether a reader at this position has all frames up to record `lastId`. False without a position or a last record. */
export function isRead(position: Cursor | undefined, lastId: number | undefined): boolean {
  if (position === undefined || lastId === undefined) return false;
  const { eventId, frame } = position;
  return eventId > lastId || (eventId === lastId && frame === undefined);
}

function readNumber(digits: string, what: string): number {
  const number = Number(digits);
  if (!Number.isSafeInteger(number)) throw invalid(`The number of ${what} must be at most 2^53-1, not ${digits}`);
  if (String(number) !== digits) throw invalid(`The number of ${what} must not have leading zeros: ${digits}`);
  return number;
}

function invalid(message: string): LoomError {
  return new LoomError("cursor_invalid", message);
}

/**
 * 48 bits of a hash of the incarnation. It only has to differ between sessions that had the same ID, and it is not a
 * secret: access to a session is checked elsewhere.
 */
function tagOf(incarnation: string): string {
  return createHash("sha256").update(incarnation).digest("base64url").slice(0, 8);
}
