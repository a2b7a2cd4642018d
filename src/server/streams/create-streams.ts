/**
 * Opens, counts and closes the readers of a server. A reader that stops reading is closed. Readers of the same stream
 * share a channel; see `stream-channel.ts`.
 */
import { type DialectName, DIALECTS, type EncoderOptions } from "../../dialects/index.ts";
import type { Log, StreamOptions } from "../../log/index.ts";
import { assertCursorOf, formatCursor } from "../../log/cursor.ts";
import { assertSession } from "../../log/rules.ts";
import { assertSessionCursor } from "../../log/stream.ts";
import type { StreamMeter } from "../../observe/index.ts";
import { BoundedMap } from "../../protocol/bounded-map.ts";
import { isLoomError, LoomError } from "../../protocol/index.ts";
import { type SlotHolder, CatchUpSlots } from "./catch-up-slots.ts";
import { StreamChannels, type StreamFormat, channelKey } from "./stream-channels.ts";
import { meterRefusal, meterSlowReader, meterStream } from "./meter-stream.ts";
import { type Position, readPosition, writePosition } from "./position.ts";
import type { ReaderEnd, ReadRequest, Streams } from "./stream-reader.ts";
import type { StreamLimits } from "../guard/server-limits.ts";
import { RunRange } from "./run-range.ts";
import { type SessionReaderOptions, SessionReader } from "./session-reader.ts";
import { type OpenedStream, openSelectedStream, readCursor, readStreamSelection } from "./stream-selection.ts";

export interface StreamsOptions {
  readonly log: Log;
  readonly limits: StreamLimits;
  /** Counts every stream, including refused ones. */
  readonly meter?: StreamMeter | undefined;
  /** Include stack traces in the `engine` dialect. Use it only in development. Default: false. */
  readonly debug?: boolean | undefined;
  /** Unit of the times in the engine dialect. Default: milliseconds. */
  readonly timestamps?: EncoderOptions["timestamps"] | undefined;
  /** Send `loom` and `export` in strict form unless the request says otherwise. Default: false. */
  readonly strict?: boolean | undefined;
  /** Replaces the version of the encoders, in tests of cursors between versions. */
  readonly encoderVersion?: number | undefined;
  /** Called with the error that ended a reader, unless the caller caused it. */
  readonly onError?: ((error: unknown) => void) | undefined;
}

/** Maximum number of runs of which the server knows that a reader disconnected. */
const MAX_LEFT = 10_000;
/** The interval between checks for slow readers. */
const SWEEP_MS = 100;

/** Where a reader starts, with the opened stream when the start came from the log. */
type StreamStart = Pick<SessionReaderOptions, "session" | "cursor" | "position"> & {
  readonly opened?: OpenedStream | undefined;
};

export function createStreams(options: StreamsOptions): Streams {
  const { log, limits, onError, debug = false } = options;
  const readers = new Set<SessionReader>();
  /** Runs whose readers disconnected, by session. */
  const left = new BoundedMap<string>(MAX_LEFT);
  const channels = new StreamChannels({ log, limits });
  const catchUpSlots = new CatchUpSlots(limits.maxCatchUps);
  let opening = 0;
  let isClosed = false;
  let sweeper: NodeJS.Timeout | undefined;

  /**
   * A store without room ends the streams that wait: runs cannot continue, and their readers would wait without a sign.
   * What is stored can still be read.
   */
  function findFault(): LoomError | undefined {
    const fault = log.monitor?.fault;
    return isLoomError(fault, "store_full") ? fault : undefined;
  }

  function sweep(): void {
    const now = performance.now();
    const fault = findFault();
    for (const reader of readers) {
      if (fault !== undefined && reader.isWaiting) reader.finish("error", fault);
      if (!reader.isSlow(now, limits)) continue;
      meterSlowReader(options);
      reader.finish("slow");
    }
  }

  function add(reader: SessionReader): void {
    readers.add(reader);
    sweeper ??= setInterval(sweep, Math.max(1, Math.min(SWEEP_MS, limits.maxStallMs / 4))).unref();
  }

  function remove(reader: SessionReader, { reason, error }: ReaderEnd, isRefused: boolean): void {
    readers.delete(reader);
    if (reason === "error" && !isRefused) onError?.(error);
    if (readers.size > 0) return;
    clearInterval(sweeper);
    sweeper = undefined;
  }

  function readEncoderOptions(request: ReadRequest, dialect: DialectName): Pick<StreamFormat, "encoderOptions"> {
    const { followSession: follow = false, strict = options.strict ?? false } = request;
    if (strict && DIALECTS[dialect].options.includes("strict")) return { encoderOptions: { strict } };
    if (request.legacy === true && DIALECTS[dialect].options.includes("legacy"))
      return { encoderOptions: { legacy: true } };
    if (request.sdkVersion !== undefined && DIALECTS[dialect].options.includes("version"))
      return { encoderOptions: { version: request.sdkVersion } };
    const isTimed = options.timestamps === "seconds" && DIALECTS[dialect].options.includes("timestamps");
    const times = isTimed ? ({ timestamps: "seconds" } as const) : {};
    return follow || debug || isTimed ? { encoderOptions: { follow, debug, ...times } } : {};
  }

  async function open(sessionId: string, request: ReadRequest): Promise<SessionReader | undefined> {
    if (isClosed) throw new LoomError("shutting_down", "The server is shutting down");
    if (readers.size + opening > limits.maxReaders)
      throw new LoomError(
        "too_many_open",
        `Too many open streams (limit ${limits.maxReaders}); close one or try again later`,
      );
    const { skip = 0, ...selection } = readStreamSelection(request);
    const { follow, limit = Number.POSITIVE_INFINITY, run, command, signal, transport } = request;
    const format: StreamFormat = {
      dialect: selection.dialect,
      modes: selection.modes,
      ...readEncoderOptions(request, selection.dialect),
      ...(options.encoderVersion === undefined ? {} : { encoderVersion: options.encoderVersion }),
    };
    const rest: StreamOptions = { ...format, maxFrameBytes: limits.maxFrameBytes, detectRunEnds: run !== undefined };
    let reader: SessionReader | undefined;
    const access: { endedBy: LoomError | undefined } = { endedBy: undefined };
    const release = request.lease?.((why) => {
      access.endedBy = why;
      reader?.finish("error", why);
    });
    const slotHolder: SlotHolder = { revoke: () => reader?.revoke() };
    const runRange = run === undefined ? undefined : new RunRange({ log, sessionId, runId: run, commandId: command });
    try {
      const selected: StreamOptions = { ...rest, ...selection, skip, signal };
      const isShared = runRange === undefined && follow && findFault() === undefined;
      let start = isShared ? await findShared(sessionId, format, request, selected) : undefined;
      if (runRange !== undefined) start = await openRun(slotHolder, sessionId, runRange, selected);
      else start ??= await openWithSlot(slotHolder, sessionId, selected);
      if (start === undefined || signal?.aborted === true) {
        void start?.opened?.close();
        request.onLeave?.();
        return undefined;
      }
      if (isClosed) {
        void start.opened?.close();
        throw new LoomError("shutting_down", "The server is shutting down");
      }
      if (access.endedBy !== undefined) {
        void start.opened?.close();
        throw access.endedBy;
      }
      const { session, cursor, position, opened } = start;
      const fault = follow && skip === 0 ? findFault() : undefined;
      if (fault !== undefined && readPosition(cursor).eventId >= session.lastId) {
        void opened?.close();
        throw fault;
      }
      // A shared start is after the skipped frames already. A run that has not started has no frames to skip.
      const isSkipDone = position !== undefined || opened === undefined;
      reader = new SessionReader(
        {
          session,
          format,
          cursor,
          position,
          skip: isSkipDone ? 0 : skip,
          limit,
          follow,
          runRange,
          endAt: request.endAt,
          channels,
          catchUpSlots,
          slotHolder,
          metered: meterStream(options, { session }, { ...selection, skip, transport, follow, limit }),
          open: (at) => openSelectedStream(log, sessionId, { ...rest, ...at, follow: false }),
          onEnd: (end) => {
            signal?.removeEventListener("abort", onAbort);
            release?.();
            // A run that was cancelled before it started, or an access lease that ended, is not a server error.
            const hasNotStarted = runRange !== undefined && runRange.first === undefined;
            const isRefused = access.endedBy !== undefined || (hasNotStarted && isLoomError(end.error));
            if (reader !== undefined) remove(reader, end, isRefused);
            if (end.reason !== "left") return;
            if (run !== undefined) left.set(sessionId, run);
            request.onLeave?.();
          },
        },
        opened,
      );
      const openedReader = reader;
      const onAbort = (): void => openedReader.finish("left");
      signal?.addEventListener("abort", onAbort, { once: true });
      add(reader);
      return reader;
    } finally {
      if (reader === undefined) {
        catchUpSlots.release(slotHolder);
        release?.();
      }
    }
  }

  /**
   * Returns the start when a channel still retains that position. A lease authorizes the session that is in the log now; a
   * channel may not know yet that its session was deleted and recreated by another process.
   */
  async function findShared(
    sessionId: string,
    format: StreamFormat,
    { lease }: ReadRequest,
    { cursor, skip = 0 }: StreamOptions,
  ): Promise<StreamStart | undefined> {
    const key = channelKey(sessionId, format);
    if (cursor === undefined || channels.find(key) === undefined) return undefined;
    const session = lease === undefined ? undefined : await log.getSession(sessionId);
    const channel = channels.find(key);
    if (channel === undefined || channel.isEnded) return undefined;
    if (lease !== undefined && session?.incarnation !== channel.incarnation) return undefined;
    const requested = readPosition(cursor);
    if (writePosition(channel.incarnation, requested, format) !== cursor) return undefined;
    const position: Position | undefined = channel.skip(requested, skip);
    return position === undefined ? undefined : { session: channel.session, cursor, position };
  }

  async function openWithSlot(
    slotHolder: SlotHolder,
    sessionId: string,
    selection: StreamOptions,
  ): Promise<StreamStart | undefined> {
    const stop = (): void => catchUpSlots.release(slotHolder);
    const { signal } = selection;
    signal?.addEventListener("abort", stop, { once: true });
    try {
      await catchUpSlots.acquire(slotHolder);
      if (signal?.aborted === true) return undefined;
      const opened = await openSelectedStream(log, sessionId, { ...selection, follow: false });
      return opened === undefined ? undefined : { session: opened.session, cursor: opened.cursor, opened };
    } finally {
      signal?.removeEventListener("abort", stop);
    }
  }

  /** Starts at the beginning of the run, or at the requested position when that is later. */
  async function openRun(
    slotHolder: SlotHolder,
    sessionId: string,
    runRange: RunRange,
    selection: StreamOptions,
  ): Promise<StreamStart | undefined> {
    const { cursor, after, sessionCursor, ...rest } = selection;
    // Read before looking up the run: a run that is not found yet starts after this record.
    const session = assertSession(await log.getSession(sessionId), sessionId);
    await runRange.refresh();
    const requested = cursor === undefined ? undefined : readCursor(cursor, selection);
    if (requested !== undefined) assertCursorOf(sessionId, session.incarnation, requested);
    if (sessionCursor !== undefined) assertSessionCursor(session, sessionCursor, selection);
    if (runRange.first === undefined)
      return { session, cursor: cursor ?? formatCursor(session.incarnation, after ?? session.lastId) };
    const fromId = requested?.eventId ?? after;
    if (fromId !== undefined && fromId >= runRange.first) return openWithSlot(slotHolder, sessionId, selection);
    // The requested position is before the run, so skipped frames are counted from the start of the run.
    return openWithSlot(slotHolder, sessionId, { ...rest, after: runRange.first - 1 });
  }

  return {
    get size() {
      return readers.size;
    },
    get heldBytes() {
      return channels.heldBytes;
    },
    isLeft: (sessionId, run) =>
      left.get(sessionId) === run && ![...readers].some(({ session }) => session.sessionId === sessionId),
    async open(sessionId, request) {
      opening++;
      try {
        return await open(sessionId, request);
      } catch (error) {
        meterRefusal(options, error);
        throw error;
      } finally {
        opening--;
      }
    },
    async close() {
      isClosed = true;
      for (const reader of readers) reader.finish("closing");
      await channels.close();
    },
  };
}
