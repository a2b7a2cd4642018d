/**
 * Reports streams to a `StreamMeter`, if there is one: how each stream was opened, and how many of its bytes were
 * replayed from the log.
 *
 * Invariant: an error in a meter, thrown or rejected, is reported to `onError` and does not affect the stream.
 */
import type { StreamFrame, StreamOptions } from "../../log/index.ts";
import { parseCursor } from "../../log/cursor.ts";
import type { StreamMeter } from "../../observe/index.ts";
import type { StreamEnd, StreamOpening, StreamTally } from "../../observe/metrics/server-meter.ts";
import { shield } from "../../observe/shield.ts";
import { isLoomError } from "../../protocol/index.ts";
import type { OpenedStream } from "./stream-selection.ts";

interface Metering {
  readonly meter?: StreamMeter | undefined;
  readonly onError?: ((error: unknown) => void) | undefined;
}

export interface MeteredStreamOptions extends StreamOptions {
  readonly transport: StreamOpening["transport"];
  readonly follow: boolean;
  /** Maximum frames this stream sends. */
  readonly limit: number;
}

export interface MeteredStream {
  /** `bytes` is the size of the frame texts, when it is already known. */
  send(frames: readonly StreamFrame[], bytes?: number): void;
  /** Only the first call has an effect. */
  close(end: StreamEnd): void;
}

/** Returns undefined when there is no meter. */
export function meterStream(
  options: Metering,
  { session: { lastId } }: Pick<OpenedStream, "session">,
  stream: MeteredStreamOptions,
): MeteredStream | undefined {
  const { meter } = options;
  if (meter === undefined) return undefined;
  const { transport, dialect } = stream;
  let tally: StreamTally | undefined;
  reportFaults(options, () => (tally = meter.openStream({ transport, dialect, kind: findKind(stream) })));
  let isReplaying = true;
  return {
    send: (frames, bytes = countBytes(frames)) =>
      reportFaults(options, () => {
        const old = isReplaying ? countUpTo(frames, lastId) : 0;
        isReplaying = old === frames.length;
        const replayed = isReplaying ? bytes : old === 0 ? 0 : countBytes(frames.slice(0, old));
        return tally?.send(frames.length, bytes, replayed);
      }),
    close: (end) =>
      reportFaults(options, () => {
        const open = tally;
        tally = undefined;
        return open?.close(end);
      }),
  };
}

export function meterRefusal(options: Metering, error: unknown): void {
  reportFaults(options, () => options.meter?.refuseStream(isLoomError(error) ? error.code : "internal_error"));
}

export function meterSlowReader(options: Metering): void {
  reportFaults(options, () => options.meter?.closeSlowReader());
}

/**
 * A receiver that missed frames requests a limited range after the last frame it has, next to the stream it follows.
 */
function findKind({ cursor, after = 0, skip = 0, follow, limit }: MeteredStreamOptions): StreamOpening["kind"] {
  if (cursor === undefined && after === 0 && skip === 0) return "fresh";
  return !follow && Number.isFinite(limit) ? "gap" : "resume";
}

function countBytes(frames: readonly StreamFrame[]): number {
  let bytes = 0;
  for (const { text } of frames) bytes += Buffer.byteLength(text);
  return bytes;
}

/** Counts the leading frames that belong to records up to `eventId`. Usually that is all or none. */
function countUpTo(frames: readonly StreamFrame[], eventId: number): number {
  const isOld = (frame: StreamFrame | undefined): boolean =>
    frame !== undefined && parseCursor(frame.cursor).eventId <= eventId;
  if (isOld(frames.at(-1))) return frames.length;
  const first = frames.findIndex((frame) => !isOld(frame));
  return Math.max(0, first);
}

function reportFaults({ onError }: Metering, act: () => unknown): void {
  shield(act, (error) =>
    shield(
      () => onError?.(error),
      () => undefined,
    ),
  );
}
