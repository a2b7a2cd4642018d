/**
 * The cursor of a stream: an opaque string that a client sends back to resume. It names the last frame received (its
 * record and the frame's index in that record), the version of the encoder that counted the frames, and the session.
 *
 * `3.pX3kQ9_a.12.0` is frame 0 of record 12, with more frames of that record to come; `3.pX3kQ9_a.12` is the end of
 * record 12. The last frame of a record uses the second form, which stays valid when the record itself is pruned. A
 * cursor contains only letters, digits, `-`, `_` and `.`, so it fits into a URL and the `id:` of a server-sent event.
 */
import { createHash } from "node:crypto";
import type { DialectName } from "../dialects/dialect.ts";
import { LoomError } from "../protocol/index.ts";

/**
 * The latest version of any encoder. Increase it with every change that gives the same records different frames in a
 * dialect: other bytes, another number of frames, or frames sent at another record. Give that dialect the new version,
 * and no other: processes of two versions then accept each other's cursors of all other dialects. Older cursors of the
 * changed dialect are rejected instead of misread.
 *
 * Cursors that belong to no stream (`formatCursor`) have this version. They are at the end of a record, and every dialect
 * accepts them.
 */
export const ENCODER_VERSION = 9;

/** Version of the encoder of each dialect, at most `ENCODER_VERSION`. */
export const ENCODER_VERSIONS: { readonly [N in DialectName]: number } = {
  loom: 8,
  export: 9,
  engine: 8,
  lumine: 9,
  "stream-event": 6,
  "ai-sdk": 9,
  "ag-ui": 9,
  "openai-responses": 7,
  "openai-chat": 8,
};

/** The dialect of a stream. `encoderVersion` replaces the version of its encoder in tests. */
export interface CursorDialect {
  readonly dialect: DialectName;
  readonly encoderVersion?: number | undefined;
}

export function encoderVersionOf({ dialect, encoderVersion = ENCODER_VERSIONS[dialect] }: CursorDialect): number {
  return encoderVersion;
}

/** Maximum length of a cursor in characters; valid cursors are shorter. Longer ones throw `cursor_invalid`. */
export const MAX_CURSOR_LENGTH = 64;

/** A parsed cursor. */
export interface Cursor {
  /** Version of the encoder. */
  readonly version: number;
  /** Hash of the session's incarnation, see `tagOf`. */
  readonly tag: string;
  /** ID of the last record received. */
  readonly eventId: number;
  /** Index of the frame in its record; undefined for the end of the record. */
  readonly frame: number | undefined;
}

/** Returns a function that formats cursors of one session, for streams of one encoder version. */
export function createCursorFormat(incarnation: string, version: number): (eventId: number, frame?: number) => string {
  const head = `${version}.${tagOf(incarnation)}.`;
  return (eventId, frame) => (frame === undefined ? `${head}${eventId}` : `${head}${eventId}.${frame}`);
}

/** Formats the cursor of the end of a record, for streams of any dialect. */
export function formatCursor(incarnation: string, eventId: number): string {
  return createCursorFormat(incarnation, ENCODER_VERSION)(eventId);
}

const SHAPE = /^(\d+)\.([\w.-]+)$/;
const BODY = /^([\w-]{8})\.(\d+)(?:\.(\d+))?$/;

/**
 * Parses a cursor of any version. Throws `cursor_invalid` if `text` is not a cursor, and `cursor_stale` if it has the
 * form of a later version. See also `assertCursorVersion`.
 */
export function parseCursor(text: unknown): Cursor {
  if (typeof text !== "string") throw invalid(`A cursor must be a string, not ${text === null ? "null" : typeof text}`);
  if (text.length > MAX_CURSOR_LENGTH)
    throw invalid(`A cursor has at most ${MAX_CURSOR_LENGTH} characters, not ${text.length}`);
  const [, version, body] = SHAPE.exec(text) ?? [];
  if (version === undefined || body === undefined) throw invalid("Not a valid cursor");
  const [, tag, eventId, frame] = BODY.exec(body) ?? [];
  if (tag === undefined || eventId === undefined)
    throw Number(version) > ENCODER_VERSION ? stale(version, ENCODER_VERSION) : invalid("Not a valid cursor");
  const cursor = {
    version: readNumber(version, "the version"),
    tag,
    eventId: readNumber(eventId, "a record"),
    frame: frame === undefined ? undefined : readNumber(frame, "a frame"),
  };
  if (cursor.frame !== undefined && cursor.eventId === 0) throw invalid("A cursor cannot name a frame of record 0");
  return cursor;
}

/**
 * Throws `cursor_stale` unless a stream can continue at the cursor: its encoder has the version of the cursor, or the
 * cursor is at the end of a record and belongs to no stream. If frames do not depend on earlier ones (`isIndependent`),
 * the end of a record is accepted with any version.
 */
export function assertCursorVersion(cursor: Cursor, format: CursorDialect, isIndependent: boolean): void {
  if (cursor.frame !== undefined || !isIndependent) assertSameFrames(cursor, format);
}

/**
 * Throws `cursor_stale` unless the encoder has the version of the cursor, or the cursor belongs to no stream and is of
 * this version. Frames can be counted only then.
 */
export function assertSameFrames({ version, frame }: Cursor, format: CursorDialect): void {
  const own = encoderVersionOf(format);
  const isOfNoStream = frame === undefined && version === Math.max(own, ENCODER_VERSION);
  if (version !== own && !isOfNoStream) throw stale(String(version), own);
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

function stale(version: string, supported: number): LoomError {
  return new LoomError(
    "cursor_stale",
    `The cursor is from another version of the server (${version}, not ${supported}); ` +
      "read the run or the session from its start, without a cursor",
    { version: supported },
  );
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
