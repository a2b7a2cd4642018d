/**
 * Tells a meter of the streams of a server, if there is one. It finds out what kind of asking it was, and which bytes
 * were in the log already; it sends nothing itself.
 *
 * Invariant: what a meter throws, at once or later, is reported and harms no stream.
 */
import { parseCursor, type StreamFrame, type StreamOptions } from "../../log/index.ts";
import type { StreamEnd, StreamMeter, StreamOpening, StreamTally } from "../../observe/index.ts";
import { shield } from "../../observe/shield.ts";
import { isLoomError } from "../../protocol/index.ts";
import type { OpenedStream } from "./stream-place.ts";

interface Metering {
  readonly meter?: StreamMeter | undefined;
  readonly onError?: ((error: unknown) => void) | undefined;
}

export interface AskedStream extends StreamOptions {
  readonly transport: StreamOpening["transport"];
  readonly follow: boolean;
  /** Frames, at most. */
  readonly limit: number;
}

export interface MeteredStream {
  /** `bytes`: of their texts, where they were counted before. */
  send(frames: readonly StreamFrame[], bytes?: number): void;
  /** The first call counts. */
  close(end: StreamEnd): void;
}

/** Undefined where nobody wants to know. */
export function meterStream(
  options: Metering,
  { session: { lastId } }: Pick<OpenedStream, "session">,
  asked: AskedStream,
): MeteredStream | undefined {
  const { meter } = options;
  if (meter === undefined) return undefined;
  const { transport, dialect } = asked;
  let tally: StreamTally | undefined;
  guard(options, () => (tally = meter.openStream({ transport, dialect, kind: findKind(asked) })));
  let isReplaying = true;
  return {
    send: (frames, bytes = countBytes(frames)) =>
      guard(options, () => {
        const old = isReplaying ? countUpTo(frames, lastId) : 0;
        isReplaying = old === frames.length;
        const replayed = isReplaying ? bytes : old === 0 ? 0 : countBytes(frames.slice(0, old));
        return tally?.send(frames.length, bytes, replayed);
      }),
    close: (end) =>
      guard(options, () => {
        const open = tally;
        tally = undefined;
        return open?.close(end);
      }),
  };
}

export function meterRefusal(options: Metering, error: unknown): void {
  guard(options, () => options.meter?.refuseStream(isLoomError(error) ? error.code : "internal_error"));
}

export function meterSlowReader(options: Metering): void {
  guard(options, () => options.meter?.closeSlowReader());
}

/** A receiver that has missed frames asks for so many after the last it has, beside the stream it follows. */
function findKind({ cursor, after = 0, skip = 0, follow, limit }: AskedStream): StreamOpening["kind"] {
  if (cursor === undefined && after === 0 && skip === 0) return "fresh";
  return !follow && Number.isFinite(limit) ? "gap" : "resume";
}

function countBytes(frames: readonly StreamFrame[]): number {
  let bytes = 0;
  for (const { text } of frames) bytes += Buffer.byteLength(text);
  return bytes;
}

/** How many of these frames, which are in order, are of records up to this one. Most often all or none. */
function countUpTo(frames: readonly StreamFrame[], eventId: number): number {
  const isOld = (frame: StreamFrame | undefined): boolean =>
    frame !== undefined && parseCursor(frame.cursor).eventId <= eventId;
  if (isOld(frames.at(-1))) return frames.length;
  const first = frames.findIndex((frame) => !isOld(frame));
  return Math.max(0, first);
}

function guard({ onError }: Metering, act: () => unknown): void {
  shield(act, (error) =>
    shield(
      () => onError?.(error),
      () => undefined,
    ),
  );
}
