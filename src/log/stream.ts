/**
 * Streams a session as frames of a dialect, each with the cursor to resume after it. It does not know framings or
 * transports.
 *
 * Invariants:
 * - A resumed stream continues the original byte for byte, in every dialect and at every cursor, or it throws. Encoders
 *   depend only on records, so they continue a saved state (`stream-snapshots.ts`) or are first shown the records they
 *   need, without sending them.
 * - Memory does not grow with the session: one page, one batch of about a million characters, and, if states are
 *   requested, the states of live runs.
 */
import { isDialectName, type MissingText } from "../dialects/dialect.ts";
import type { DialectName, EncoderOptions } from "../dialects/index.ts";
import { loadDialect } from "../dialects/load-dialect.ts";
import type { MessageChunkEvent } from "../protocol/events.generated.ts";
import { LoomError } from "../protocol/index.ts";
import { isAnswerChannel } from "../protocol/record.ts";
import { readStreamModes, type StreamModes } from "../protocol/stream-modes.ts";
import {
  assertCursorOf,
  assertCursorVersion,
  assertSameFrames,
  createCursorFormat,
  type Cursor,
  type CursorDialect,
  encoderVersionOf,
  parseCursor,
} from "./cursor.ts";
import {
  createPageEncoder,
  findLastSentId,
  isChained,
  isIndependent,
  mayContainRunEnd,
  needsRunHistory,
  type PageEncoder,
  type PageEncoding,
  type SavedPageEncoder,
} from "./encode-page.ts";
import { assertLog, assertPosition, assertSession } from "./rules.ts";
import { StreamSnapshots } from "./stream-snapshots.ts";
import { createLoopYield, followRecords } from "./follow-records.ts";
import type { Log, SessionInfo } from "./log.ts";
import type { Page } from "./page.ts";

/** A frame of a stream. */
export interface StreamFrame {
  /** The encoded frame, without framing. */
  readonly text: string;
  /** Cursor to resume after this frame. */
  readonly cursor: string;
}

/** Options of `openStream`. */
export interface StreamOptions {
  /** Dialect of the frames. */
  readonly dialect: DialectName;
  /** Options of the dialect's encoder. */
  readonly encoderOptions?: EncoderOptions | undefined;
  /**
   * Event kinds to send, with full graph states; `all` sends everything. Default: all events except graph states
   * (`updates`, `values` and `checkpoint`); in strict form `all`.
   */
  readonly modes?: StreamModes | undefined;
  /** Resume after this frame. Default, if `after` is also absent: the first stored record. */
  readonly cursor?: string | undefined;
  /** Start after this record and all its frames. */
  readonly after?: number | undefined;
  /** Whole frames already received since `cursor` or `after`, for dialects whose frames carry no cursor. */
  readonly skip?: number | undefined;
  /**
   * Any cursor of the expected session. Throws `cursor_stale` if the session was recreated, which `after` and `skip`
   * alone would not detect.
   */
  readonly sessionCursor?: string | undefined;
  /**
   * Called once before the first batch, when the position is known to be valid, even if no frame follows yet. Errors
   * that prevent the first frame are thrown before.
   */
  readonly onStart?: ((start: StreamStartInfo) => void) | undefined;
  /** Whether to wait for new records at the end. Default: false. */
  readonly follow?: boolean;
  /** Ends the stream without an error. */
  readonly signal?: AbortSignal | undefined;
  /** Maximum number of records per batch. Default: the page limits of the log. */
  readonly limit?: number | undefined;
  /** Maximum size of a frame in bytes; full states can be long. Larger ones throw `frame_too_long`. Default: no limit. */
  readonly maxFrameBytes?: number | undefined;
  /** Whether to set `mayEndRun` in each step. Default: false. */
  readonly detectRunEnds?: boolean | undefined;
  /** Replaces the version of the dialect's encoder, in tests of cursors between versions. @internal */
  readonly encoderVersion?: number | undefined;
}

/** Maximum size of a batch in characters, unless a single frame is longer. */
const MAX_BATCH_CHARACTERS = 1024 * 1024;

/** The session and position at which a stream starts. */
export interface StreamStartInfo {
  readonly session: SessionInfo;
  /** Cursor of the start of the stream, before skipped frames. */
  readonly cursor: string;
}

/** Progress of a stream. `frames` may be empty, because not every record has frames. */
export interface StreamStep {
  readonly frames: readonly StreamFrame[];
  /** Last record whose frames were all sent; undefined if more frames of it may follow. */
  readonly through: number | undefined;
  /** With `detectRunEnds`: false if no run ends in these records. */
  readonly mayEndRun: boolean;
}

/** The frame with index `frame` of record `eventId`. */
interface FramePosition {
  readonly eventId: number;
  readonly frame: number;
}

/**
 * Streams a session as batches of frames. Batches are never empty.
 *
 * ```ts
 * for await (const frames of openStream(log, "chat-1", { dialect: "loom", follow: true, signal })) {
 *   for (const { text, cursor } of frames) send(text, cursor);
 * }
 * ```
 *
 * Throws `unknown_session`, `invalid_name` for an unknown dialect, `evicted`, and `cursor_invalid`, `cursor_stale` or
 * `cursor_ahead` for a position that is not in the session.
 */
export async function* openStream(
  log: Log,
  sessionId: string,
  options: StreamOptions,
): AsyncGenerator<readonly StreamFrame[], void, undefined> {
  for await (const { frames } of openStreamSteps(log, sessionId, options)) if (frames.length > 0) yield frames;
}

/** Like `openStream`, but also reports progress when there are no frames to send. */
export async function* openStreamSteps(
  log: Log,
  sessionId: string,
  options: StreamOptions,
): AsyncGenerator<StreamStep, void, undefined> {
  const {
    dialect: name,
    encoderOptions = {},
    modes,
    cursor,
    after,
    skip = 0,
    sessionCursor,
    onStart,
    ...waiting
  } = options;
  assertLog(log);
  if (!isDialectName(name)) throw new LoomError("invalid_name", `Unknown dialect "${String(name)}"`);
  const info = assertSession(await log.getSession(sessionId), sessionId);
  const { incarnation, lastId } = info;
  if (sessionCursor !== undefined) assertSessionCursor(info, sessionCursor, options);
  const dialect = await loadDialect(name);
  const start = findStreamPosition(info, cursor, after, (position) => {
    if (skip > 0) assertSameFrames(position, options);
    else assertCursorVersion(position, options, isIndependent({ dialect, encoderOptions }));
  });
  let toSkip = assertSkip(skip);
  const selected = modes ?? (encoderOptions.strict === true ? "all" : undefined);
  const encoding = {
    dialect,
    encoderOptions,
    modes: selected === undefined || selected === "all" ? selected : readStreamModes(selected),
    version: encoderVersionOf(options),
  };
  // No page will follow that would detect it.
  if (start.eventId > lastId && toSkip > 0) throw aheadBy(toSkip);

  const snapshots = new StreamSnapshots(log, info, encoding);
  const { from, before } = await findReadPosition(log, info, encoding, snapshots, start);
  snapshots.start(from);
  const encoder = createPageEncoder(encoding, before, start.eventId);
  const format = createCursorFormat(incarnation, encoding.version);
  const write = createPageWriter(encoder, format, start, options.maxFrameBytes);
  let reportStart: (() => void) | undefined = () => {
    reportStart = undefined;
    onStart?.({ session: info, cursor: cursor ?? format(start.eventId - 1) });
  };
  if (start.eventId > lastId) reportStart();
  const yieldToLoop = createLoopYield();
  for await (const page of followRecords(log, sessionId, { ...waiting, after: from, incarnation })) {
    const mayEndRun = options.detectRunEnds === true && mayContainRunEnd(page);
    for (const { frames: batch, isLast, missing } of write(page)) {
      if (missing !== undefined) {
        await readMissingText(log, sessionId, missing);
        continue;
      }
      const skipped = Math.min(toSkip, batch.length);
      toSkip -= skipped;
      const frames = skipped === 0 ? batch : batch.slice(skipped);
      if (isLast && page.lastId >= lastId) {
        // A client cannot have received frames of records that did not exist when it asked.
        if (toSkip > 0) throw aheadBy(toSkip);
        reportStart?.();
      }
      if (frames.length > 0) reportStart?.();
      // Before the start there is no progress to report.
      else if (!isLast || reportStart !== undefined || page.lastId < start.eventId) continue;
      yield { frames, through: isLast ? page.lastId : undefined, mayEndRun };
      await yieldToLoop();
    }
    const saving = snapshots.add(page, encoder);
    if (saving !== undefined) await saving;
  }
}

/** Throws `cursor_stale` if the cursor is of another session, or of another encoder than the frames to skip. */
export function assertSessionCursor(
  { sessionId, incarnation }: SessionInfo,
  text: string,
  options: CursorDialect & Pick<StreamOptions, "skip">,
): void {
  const cursor = parseCursor(text);
  assertCursorOf(sessionId, incarnation, cursor);
  if ((options.skip ?? 0) > 0) assertSameFrames(cursor, options);
}

function findStreamPosition(
  info: SessionInfo,
  text: string | undefined,
  after: number | undefined,
  assertVersion: (cursor: Cursor) => void,
): FramePosition {
  const { sessionId, incarnation, firstId, lastId } = info;
  if (text === undefined) {
    if (after === undefined) return { eventId: firstId, frame: 0 };
    assertPosition(sessionId, after, firstId, lastId);
    return { eventId: after + 1, frame: 0 };
  }
  if (after !== undefined)
    throw new LoomError("cursor_invalid", "Give either a cursor or a record to start after, not both");
  const cursor = parseCursor(text);
  assertCursorOf(sessionId, incarnation, cursor);
  assertVersion(cursor);
  assertPosition(sessionId, cursor.eventId, firstId, lastId);
  if (cursor.frame === undefined) return { eventId: cursor.eventId + 1, frame: 0 };
  return { eventId: cursor.eventId, frame: cursor.frame + 1 };
}

/** Finds the record after which to start reading, and the state of the encoder there. */
async function findReadPosition(
  log: Log,
  info: SessionInfo,
  encoding: PageEncoding,
  snapshots: StreamSnapshots,
  { eventId }: FramePosition,
): Promise<{ readonly from: number; readonly before: SavedPageEncoder }> {
  const { dialect } = encoding;
  if (needsRunHistory(encoding)) {
    const first = await log.findFoldStart(info.sessionId, eventId - 1);
    const from = Math.min(first, eventId) - 1;
    const found = await snapshots.find(from, eventId - 1);
    if (found !== undefined) return { from: found.eventId, before: found.saved };
    // It ends a run, and such records are always sent.
    return { from, before: { last: from } };
  }
  const from = eventId - 1;
  if (!isChained(dialect)) return { from, before: { last: from } };
  const find = (after: number, id: number) => snapshots.find(after, id);
  return { from, before: { last: await findLastSentId(log, encoding, info, from, find) } };
}

/** Frames of a page, or a text that must be added before the next frames are encoded. */
interface PageBatch {
  readonly frames: readonly StreamFrame[];
  readonly isLast: boolean;
  readonly missing?: MissingText;
}

/** Yields the frames of a page in batches, encoded lazily. The last batch may be empty. */
function createPageWriter(
  encoder: PageEncoder,
  format: ReturnType<typeof createCursorFormat>,
  start: FramePosition,
  maxFrameBytes?: number,
) {
  return function* (page: Page): Generator<PageBatch> {
    let frames: StreamFrame[] = [];
    let characters = 0;
    let eventId = Math.max(page.after, start.eventId - 1);
    for (const texts of encoder.encode(page)) {
      if (!isFrames(texts)) {
        yield { frames: [], isLast: false, missing: texts };
        continue;
      }
      eventId++;
      const from = eventId === start.eventId ? start.frame : 0;
      if (from > texts.length)
        throw new LoomError(
          "cursor_stale",
          `The cursor does not fit this stream: record ${eventId} has ${texts.length} frames, not ${from}`,
          {
            event_id: eventId,
            frames: texts.length,
          },
        );
      for (let index = from; index < texts.length; index++) {
        const text = texts[index] as string;
        const bytes = maxFrameBytes !== undefined && text.length * 3 > maxFrameBytes ? Buffer.byteLength(text) : 0;
        const isTooLong = maxFrameBytes !== undefined && bytes > maxFrameBytes;
        if (frames.length > 0 && (isTooLong || characters + text.length > MAX_BATCH_CHARACTERS)) {
          yield { frames, isLast: false };
          frames = [];
          characters = 0;
        }
        if (isTooLong)
          throw new LoomError(
            "frame_too_long",
            `A frame has at most ${maxFrameBytes} bytes, but the one of record ${eventId} has ${bytes}`,
            {
              event_id: eventId,
              bytes,
              limit: maxFrameBytes,
            },
          );
        characters += text.length;
        frames.push({ text, cursor: index === texts.length - 1 ? format(eventId) : format(eventId, index) });
      }
    }
    yield { frames, isLast: true };
  };
}

function isFrames(encoded: readonly string[] | MissingText): encoded is readonly string[] {
  return Array.isArray(encoded);
}

/** Reads the beginning of an answer that a saved encoder left out, and adds it. Costs the records of the answer. */
async function readMissingText(log: Log, sessionId: string, missing: MissingText): Promise<void> {
  const { runId, nodeId, fromId, length } = missing;
  const pieces: string[] = [];
  const yieldToLoop = createLoopYield();
  let left = length;
  for (let after = fromId - 1; left > 0;) {
    const page = await log.read(sessionId, { after });
    if (page.isEmpty) break;
    after = page.lastId;
    for (const { envelope, event } of page.records) {
      if (left === 0) break;
      if (event.type !== "message_chunk" || envelope.run_id !== runId || envelope.node_id !== nodeId) continue;
      const { content, channel } = event as MessageChunkEvent;
      if (!isAnswerChannel(channel)) continue;
      pieces.push(content);
      left -= content.length;
    }
    await yieldToLoop();
  }
  if (left !== 0)
    throw new LoomError("store_corrupt", `The answer from record ${fromId} of session "${sessionId}" is incomplete`);
  missing.add(pieces.join(""));
}

function assertSkip(skip: number): number {
  if (Number.isSafeInteger(skip) && skip >= 0) return skip;
  throw new LoomError("cursor_invalid", `The number of frames to skip must be an integer of at least 0, not ${skip}`);
}

function aheadBy(count: number): LoomError {
  return new LoomError("cursor_ahead", `Cannot skip ${count} more frames: the stream ends before them`, {
    frames: count,
  });
}
