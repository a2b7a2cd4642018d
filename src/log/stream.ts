/**
 * A session's records as the frames of a dialect, each with the cursor to go on after it. It knows no framing and no
 * transport.
 *
 * Invariants:
 * - A resumed stream is, byte by byte, the rest of the uncut one, in every dialect and wherever it was cut; or refused by
 *   name. An encoder acts on records alone, so it is enough to show it again, unsent, what it must know.
 * - Memory does not grow with the session: it holds one page, one batch of about a million characters, and the states of
 *   live runs where states are asked for.
 */
import { type DialectName, DIALECTS, type EncoderOptions, isDialectName } from "../dialects/index.ts";
import { isLoomError, LoomError, readStreamModes, type StreamModes } from "../protocol/index.ts";
import { assertCursorOf, createCursorFormat, formatCursor, parseCursor } from "./cursor.ts";
import {
  createPageEncoder,
  findShownBefore,
  mayEndRunIn,
  needsRun,
  type PageEncoder,
  type Reading,
} from "./encode-page.ts";
import { assertPosition, unknownSession } from "./rules.ts";
import { assertIncarnation, createTurns, followRecords } from "./follow-records.ts";
import type { Log, SessionInfo } from "./log.ts";
import type { Page } from "./page.ts";

export interface StreamFrame {
  readonly text: string;
  /** Where to go on after this frame. */
  readonly cursor: string;
}

export interface StreamOptions {
  readonly dialect: DialectName;
  readonly encoderOptions?: EncoderOptions | undefined;
  /**
   * Only these kinds of events, or all, with states whole. Without it everything comes but the states of graphs, which
   * are stored as what changed: nobody pays for what they did not ask for.
   */
  readonly modes?: StreamModes | undefined;
  /** Go on after this frame. Without it and `after`: from the first record that is held. */
  readonly cursor?: string | undefined;
  /** Go on after this record and all its frames. */
  readonly after?: number | undefined;
  /** Whole frames received since `cursor` or `after`, for dialects whose frames have no room for a cursor. */
  readonly skip?: number | undefined;
  /** Any cursor of the session that is meant, where a number or a count alone would fit another: `cursor_stale`. */
  readonly of?: string | undefined;
  /**
   * Told once, before the first batch: the place is good, though nothing may have come after it yet. Whatever keeps the
   * first frame from being made is thrown before.
   */
  readonly onPlaced?: ((place: StreamPlace) => void) | undefined;
  readonly follow?: boolean;
  readonly signal?: AbortSignal | undefined;
  /** At most the frames of so many records in a batch. */
  readonly limit?: number | undefined;
  /** Bytes of one frame: states that were put together may become long. Code `frame_too_long`; none unless given. */
  readonly maxFrameBytes?: number | undefined;
  readonly recheckMs?: number | undefined;
  /** Look whether a run may end in a page: `mayEndRun`. */
  readonly marksEnds?: boolean | undefined;
}

/** A batch has no more, unless it is a single frame. */
const MAX_BATCH_CHARACTERS = 1024 * 1024;

export interface StreamPlace {
  readonly session: SessionInfo;
  /** Where the stream begins, frames to skip not counted. */
  readonly cursor: string;
}

/** How far a stream has come. Frames may be none: not every record gives some. */
export interface StreamStep {
  readonly frames: readonly StreamFrame[];
  /** All frames of the records up to this one were given; undefined where more of the last one may follow. */
  readonly through: number | undefined;
  /** Where it was asked for: false if no run can end among these records. */
  readonly mayEndRun: boolean;
}

/** Where a stream begins: with frame `frame` of record `eventId`. */
interface Start {
  readonly eventId: number;
  readonly frame: number;
}

/** Gives batches that are never empty. */
export async function* openStream(
  log: Log,
  sessionId: string,
  options: StreamOptions,
): AsyncGenerator<readonly StreamFrame[], void, undefined> {
  for await (const { frames } of openSteps(log, sessionId, options)) if (frames.length > 0) yield frames;
}

/** The same, telling how far it has come also where there was nothing to give. */
export async function* openSteps(
  log: Log,
  sessionId: string,
  options: StreamOptions,
): AsyncGenerator<StreamStep, void, undefined> {
  const { dialect: name, encoderOptions = {}, modes, cursor, after, skip = 0, of, onPlaced, ...waiting } = options;
  if (!isDialectName(name)) throw new LoomError("invalid_name", `there is no dialect "${String(name)}"`);
  const info = await log.getSession(sessionId);
  if (info === undefined) throw unknownSession(sessionId);
  const { incarnation, lastId } = info;
  if (of !== undefined) assertCursorOf(sessionId, incarnation, parseCursor(of));
  const start = findStart(info, cursor, after);
  let toSkip = assertSkip(skip);
  const dialect = DIALECTS[name];
  const reading = {
    dialect,
    encoderOptions,
    modes: modes === undefined || modes === "all" ? modes : readStreamModes(modes),
  };
  // Where nothing follows the start, no page would come to find it out by.
  if (start.eventId > lastId && toSkip > 0) throw aheadBy(toSkip);

  const { from, shownBefore } = await findReadingStart(log, info, reading, start);
  const encode = createPageEncoder(reading, shownBefore, start.eventId);
  const write = createPageWriter(encode, incarnation, start, options.maxFrameBytes);
  let tellPlaced: (() => void) | undefined = () => {
    tellPlaced = undefined;
    onPlaced?.({ session: info, cursor: cursor ?? formatCursor(incarnation, start.eventId - 1) });
  };
  if (start.eventId > lastId) tellPlaced();
  const turn = createTurns();
  for await (const page of followRecords(log, sessionId, { ...waiting, after: from, incarnation })) {
    const mayEndRun = options.marksEnds === true && mayEndRunIn(page);
    for (const { frames: batch, isLast } of write(page)) {
      const skipped = Math.min(toSkip, batch.length);
      toSkip -= skipped;
      const frames = skipped === 0 ? batch : batch.slice(skipped);
      if (isLast && page.lastId >= lastId) {
        // Nobody can have received a frame of a record that was not there when they asked.
        if (toSkip > 0) throw aheadBy(toSkip);
        tellPlaced?.();
      }
      if (frames.length > 0) tellPlaced?.();
      // Before the place is known to be good, and before the start, nobody is anywhere yet.
      else if (!isLast || tellPlaced !== undefined || page.lastId < start.eventId) continue;
      yield { frames, through: isLast ? page.lastId : undefined, mayEndRun };
      await turn();
    }
  }
}

function findStart(info: SessionInfo, text: string | undefined, after: number | undefined): Start {
  const { sessionId, incarnation, firstId, lastId } = info;
  if (text === undefined) {
    if (after === undefined) return { eventId: firstId, frame: 0 };
    assertPosition(sessionId, after, firstId, lastId);
    return { eventId: after + 1, frame: 0 };
  }
  if (after !== undefined)
    throw new LoomError("cursor_invalid", "a stream goes on after a cursor or a record, not both");
  const cursor = parseCursor(text);
  assertCursorOf(sessionId, incarnation, cursor);
  assertPosition(sessionId, cursor.eventId, firstId, lastId);
  if (cursor.frame === undefined) return { eventId: cursor.eventId + 1, frame: 0 };
  return { eventId: cursor.eventId, frame: cursor.frame + 1 };
}

/** The record after which to read, and the last one up to it that was not left out. */
async function findReadingStart(log: Log, info: SessionInfo, reading: Reading, { eventId }: Start) {
  const { dialect } = reading;
  if (needsRun(reading)) {
    const first = await log.findFoldStart(info.sessionId, eventId - 1);
    const from = Math.min(first, eventId) - 1;
    // It is the end of a run, which is never left out.
    return { from, shownBefore: from };
  }
  const from = eventId - 1;
  if (dialect.name !== "loom") return { from, shownBefore: from };
  try {
    return { from, shownBefore: await findShownBefore(log, reading, info, from) };
  } catch (error) {
    // Another session may bear the name by now, and not have this position: say what it is.
    if (isLoomError(error, "cursor_ahead", "evicted")) await assertIncarnation(log, info.sessionId, info.incarnation);
    throw error;
  }
}

/** The frames of a page, in batches that are made when they are asked for; the last one may be empty. */
function createPageWriter(encode: PageEncoder, incarnation: string, start: Start, maxFrameBytes?: number) {
  const format = createCursorFormat(incarnation);
  return function* (page: Page): Generator<{ readonly frames: readonly StreamFrame[]; readonly isLast: boolean }> {
    let frames: StreamFrame[] = [];
    let characters = 0;
    let eventId = Math.max(page.after, start.eventId - 1);
    for (const texts of encode(page)) {
      eventId++;
      const from = eventId === start.eventId ? start.frame : 0;
      if (from > texts.length)
        throw new LoomError("cursor_stale", `record ${eventId} has ${texts.length} frames here, not ${from}`, {
          event_id: eventId,
          frames: texts.length,
        });
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
            `a frame may have ${maxFrameBytes} bytes, that of record ${eventId} has ${bytes}`,
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

function assertSkip(skip: number): number {
  if (Number.isSafeInteger(skip) && skip >= 0) return skip;
  throw new LoomError("cursor_invalid", `frames to skip are a whole number from 0 on, not ${skip}`);
}

function aheadBy(count: number): LoomError {
  return new LoomError("cursor_ahead", `the stream has ${count} frames less than were to be skipped`, {
    frames: count,
  });
}
