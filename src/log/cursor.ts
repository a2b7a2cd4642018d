/**
 * The wire cursor: where a reader stands in a session's stream, as a text it gives back unread. It names the record whose
 * frame came last and the frame's index within it, the encoders that counted the frames, and the session that was meant.
 *
 * `2.pX3kQ9_a.12.0` is frame 0 of record 12, with more of that record to come; `2.pX3kQ9_a.12` is all of record 12. The
 * last frame of a record has the second form: it is shorter, and still good when the record itself has been evicted.
 * Digits, letters, `-`, `_` and `.` only: it can stand in an address and as the `id:` of a server-sent event.
 */
import { createHash } from "node:crypto";
import { LoomError } from "../protocol/index.ts";

/**
 * Raise it with every change after which the same records give other frames in any dialect: other bytes, another number
 * of frames, or another record that triggers them. A cursor that counted the old frames is then refused, not misread.
 */
export const ENCODER_VERSION = 2;

/** Two numbers of 16 digits, the version and the tag stay far below it. Code `cursor_invalid`. */
export const MAX_CURSOR_LENGTH = 64;

export interface Cursor {
  /** Of the incarnation, see `tagOf`. */
  readonly tag: string;
  readonly eventId: number;
  /** The index of the frame within its record; undefined for all of the record. */
  readonly frame: number | undefined;
}

/** Writes the cursors of one session. */
export function createCursorFormat(incarnation: string): (eventId: number, frame?: number) => string {
  const head = `${ENCODER_VERSION}.${tagOf(incarnation)}.`;
  return (eventId, frame) => (frame === undefined ? `${head}${eventId}` : `${head}${eventId}.${frame}`);
}

export function formatCursor(incarnation: string, eventId: number, frame?: number): string {
  return createCursorFormat(incarnation)(eventId, frame);
}

const SHAPE = /^(\d+)\.([\w.-]+)$/;
const BODY = /^([\w-]{8})\.(\d+)(?:\.(\d+))?$/;

/** Throws `cursor_invalid` where `text` is no cursor, `cursor_stale` where encoders of another version counted. */
export function parseCursor(text: unknown): Cursor {
  if (typeof text !== "string") throw invalid(`a cursor is a text, not ${text === null ? "null" : typeof text}`);
  if (text.length > MAX_CURSOR_LENGTH)
    throw invalid(`a cursor has at most ${MAX_CURSOR_LENGTH} characters, not ${text.length}`);
  const [, version, body] = SHAPE.exec(text) ?? [];
  if (version === undefined || body === undefined) throw invalid("this is not the form of a cursor");
  // Before its body is read: another version may have another one.
  if (Number(version) !== ENCODER_VERSION)
    throw new LoomError("cursor_stale", `the cursor is of version ${version}, frames are now of ${ENCODER_VERSION}`, {
      version: ENCODER_VERSION,
    });
  const [, tag, eventId, frame] = BODY.exec(body) ?? [];
  if (tag === undefined || eventId === undefined) throw invalid("this is not the form of a cursor");
  const cursor = {
    tag,
    eventId: readNumber(eventId, "a record"),
    frame: frame === undefined ? undefined : readNumber(frame, "a frame"),
  };
  if (cursor.frame !== undefined && cursor.eventId === 0) throw invalid("no record is numbered 0");
  return cursor;
}

/** Throws `cursor_stale` unless the cursor is of this incarnation of the session. */
export function assertCursorOf(sessionId: string, incarnation: string, { tag }: Cursor): void {
  if (tag !== tagOf(incarnation))
    throw new LoomError("cursor_stale", `the cursor is not of this session "${sessionId}": it was made anew since`, {
      session_id: sessionId,
    });
}

function readNumber(digits: string, what: string): number {
  const number = Number(digits);
  if (!Number.isSafeInteger(number)) throw invalid(`${what} has a number of at most 2^53-1, not ${digits}`);
  if (String(number) !== digits) throw invalid(`the number of ${what} has no leading zeros: ${digits}`);
  return number;
}

function invalid(message: string): LoomError {
  return new LoomError("cursor_invalid", message);
}

/**
 * 48 bits of the incarnation. It need not be unique in the world, only differ between sessions that bore the same name,
 * and it is no secret: whoever may read the session is decided elsewhere.
 */
function tagOf(incarnation: string): string {
  return createHash("sha256").update(incarnation).digest("base64url").slice(0, 8);
}
