/**
 * The readers of a server's sessions: opens them, counts them, and ends those that do not read. What they have in common
 * is in channels; see there.
 */
import type { Log, StreamOptions } from "../../log/index.ts";
import { assertCursorOf } from "../../log/cursor.ts";
import { formatCursor, parseCursor } from "../../log/index.ts";
import { unknownSession } from "../../log/rules.ts";
import type { StreamMeter } from "../../observe/index.ts";
import { isLoomError, LoomError } from "../../protocol/index.ts";
import { type CatchUp, CatchUps } from "./catch-ups.ts";
import { Channels, type ChannelStream, keyOf } from "./channels.ts";
import { meterRefusal, meterSlowReader, meterStream } from "./meter-stream.ts";
import { type Position, readPosition, writePosition } from "./position.ts";
import type { ReaderEnd, ReadRequest, StreamLimits, Streams } from "./reader.ts";
import { RunSpan } from "./run-span.ts";
import { type ReaderOptions, SessionReader } from "./session-reader.ts";
import { type OpenedStream, openPlace, readPlace } from "./stream-place.ts";

export interface StreamsOptions {
  readonly log: Log;
  readonly limits: StreamLimits;
  /** Told of every stream, also of those that are refused. */
  readonly meter?: StreamMeter | undefined;
  /** Stack traces in the dialect `engine`. Never where users are not the programmers. */
  readonly debug?: boolean | undefined;
  /** Told of what ends a stream as `error`, but for a message that was refused. */
  readonly onError?: ((error: unknown) => void) | undefined;
}

/** How often it is looked for readers that do not read. */
const SWEEP_MS = 100;

/** The place a reader asks for, and where it was found. */
type Placed = Pick<ReaderOptions, "session" | "cursor" | "position"> & { readonly opened?: OpenedStream | undefined };

export function createStreams(options: StreamsOptions): Streams {
  const { log, limits, onError, debug = false } = options;
  const readers = new Set<SessionReader>();
  const channels = new Channels({ log, limits });
  const catchUps = new CatchUps(limits.maxCatchUps);
  let opening = 0;
  let isClosed = false;
  let sweeper: NodeJS.Timeout | undefined;

  function sweep(): void {
    const now = performance.now();
    for (const reader of readers) {
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

  async function open(sessionId: string, request: ReadRequest): Promise<SessionReader | undefined> {
    if (isClosed) throw new LoomError("shutting_down", "the server is about to stop");
    if (readers.size + opening > limits.maxReaders)
      throw new LoomError("too_many_open", `at most ${limits.maxReaders} streams are read at once`);
    const { skip = 0, ...place } = readPlace(request);
    const { follow, limit = Number.POSITIVE_INFINITY, run, command, signal, transport } = request;
    const stream: ChannelStream = {
      dialect: place.dialect,
      modes: place.modes,
      ...(request.followSession === true || debug
        ? { encoderOptions: { follow: request.followSession === true, debug } }
        : {}),
    };
    const rest = { ...stream, maxFrameBytes: limits.maxFrameBytes, marksEnds: run !== undefined };
    let reader: SessionReader | undefined;
    const leave: { endedBy: LoomError | undefined } = { endedBy: undefined };
    const release = request.lease?.((why) => {
      leave.endedBy = why;
      reader?.finish("error", why);
    });
    const ticket: CatchUp = { revoke: () => reader?.revoke() };
    const span = run === undefined ? undefined : new RunSpan({ log, sessionId, runId: run, commandId: command });
    try {
      const placed =
        span === undefined
          ? (follow &&
              (await mayShare(sessionId, stream, request)) &&
              findShared(sessionId, stream, place.cursor, skip)) ||
            (await openInTurn(ticket, sessionId, { ...rest, ...place, skip, signal }))
          : await openRun(ticket, sessionId, span, { ...rest, ...place, skip, signal });
      if (placed === undefined || signal?.aborted === true) {
        void placed?.opened?.close();
        return undefined;
      }
      if (isClosed) {
        void placed.opened?.close();
        throw new LoomError("shutting_down", "the server is about to stop");
      }
      if (leave.endedBy !== undefined) {
        void placed.opened?.close();
        throw leave.endedBy;
      }
      const { session, cursor, position, opened } = placed;
      const isNear = position !== undefined || opened === undefined;
      reader = new SessionReader(
        {
          session,
          stream,
          cursor,
          position,
          skip: isNear ? 0 : skip,
          limit,
          follow,
          span,
          channels,
          catchUps,
          ticket,
          metered: meterStream(options, { session }, { ...place, skip, transport, follow, limit }),
          open: (at) => openPlace(log, sessionId, { ...rest, ...at, follow: false }),
          onEnd: (end) => {
            signal?.removeEventListener("abort", goAway);
            release?.();
            // A run that never begins, and a reason with a code: somebody may have cancelled it. Or leave has ended.
            const isUnbegun = span !== undefined && span.first === undefined;
            const isRefused = leave.endedBy !== undefined || (isUnbegun && isLoomError(end.error));
            if (reader !== undefined) remove(reader, end, isRefused);
          },
        },
        opened,
      );
      const opens = reader;
      const goAway = (): void => opens.finish("left");
      signal?.addEventListener("abort", goAway, { once: true });
      add(reader);
      return reader;
    } finally {
      if (reader === undefined) {
        catchUps.release(ticket);
        release?.();
      }
    }
  }

  /**
   * Whoever needs leave has it for the session as it is in the log. A channel may not have heard yet that its session was
   * deleted elsewhere and that the name is another's by now.
   */
  async function mayShare(sessionId: string, stream: ChannelStream, { lease }: ReadRequest): Promise<boolean> {
    if (lease === undefined) return true;
    const channel = channels.find(keyOf(sessionId, stream));
    return channel !== undefined && (await log.getSession(sessionId))?.incarnation === channel.incarnation;
  }

  /** The place, if it is one that somebody has just left. */
  function findShared(
    sessionId: string,
    stream: ChannelStream,
    cursor: string | undefined,
    skip: number,
  ): Placed | undefined {
    const channel = channels.find(keyOf(sessionId, stream));
    if (cursor === undefined || channel === undefined || channel.isEnded) return undefined;
    const asked = readPosition(cursor);
    if (writePosition(channel.incarnation, asked) !== cursor) return undefined;
    const position: Position | undefined = channel.skip(asked, skip);
    return position === undefined ? undefined : { session: channel.session, cursor, position };
  }

  async function openInTurn(ticket: CatchUp, sessionId: string, place: StreamOptions): Promise<Placed | undefined> {
    const stop = (): void => catchUps.release(ticket);
    const { signal } = place;
    signal?.addEventListener("abort", stop, { once: true });
    try {
      await catchUps.take(ticket);
      if (signal?.aborted === true) return undefined;
      const opened = await openPlace(log, sessionId, { ...place, follow: false });
      return opened === undefined ? undefined : { session: opened.session, cursor: opened.cursor, opened };
    } finally {
      signal?.removeEventListener("abort", stop);
    }
  }

  /** From the run's beginning, or later where that was asked for. */
  async function openRun(
    ticket: CatchUp,
    sessionId: string,
    span: RunSpan,
    place: StreamOptions,
  ): Promise<Placed | undefined> {
    const { cursor, after, of, ...rest } = place;
    // Before the run is looked for: one that is not found then begins after what there is now.
    const session = await log.getSession(sessionId);
    if (session === undefined) throw unknownSession(sessionId);
    await span.look();
    const asked = cursor === undefined ? undefined : parseCursor(cursor);
    if (asked !== undefined) assertCursorOf(sessionId, session.incarnation, asked);
    if (of !== undefined) assertCursorOf(sessionId, session.incarnation, parseCursor(of));
    if (span.first === undefined)
      return { session, cursor: cursor ?? formatCursor(session.incarnation, after ?? session.lastId) };
    const given = asked?.eventId ?? after;
    if (given !== undefined && given >= span.first) return openInTurn(ticket, sessionId, place);
    // Frames that were counted from before the run are counted from its beginning.
    return openInTurn(ticket, sessionId, { ...rest, cursor: formatCursor(session.incarnation, span.first - 1) });
  }

  return {
    get size() {
      return readers.size;
    },
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
