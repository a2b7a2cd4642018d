/**
 * Somebody who reads a session: a place in its stream, and a sink that takes what comes. All readers of a process share
 * one `Streams`, so that what they read alike is encoded once.
 *
 * Invariants:
 * - A sink that is full is given nothing more until `resume`: whoever lags is a place, not a queue.
 * - A sink is told its end once, and last.
 */
import type { SessionInfo } from "../../log/index.ts";
import type { StreamOpening } from "../../observe/index.ts";
import type { LoomError } from "../../protocol/index.ts";
import type { Chunk } from "./chunk.ts";
import type { AskedPlace } from "./stream-place.ts";

export interface ReadRequest extends AskedPlace {
  /** Go on when the end is reached. */
  readonly follow: boolean;
  /** Frames, at most. */
  readonly limit?: number | undefined;
  /**
   * Only what belongs to the time of this run: from its `run_start` (unless a place is given) to its last record, then
   * the end. A run that has not begun is waited for.
   */
  readonly run?: string | undefined;
  /** The command that is to become that run: where it is refused, the reader ends with why. */
  readonly command?: string | undefined;
  /** lumine: what happens outside a request comes at once. */
  readonly followSession?: boolean | undefined;
  readonly transport: StreamOpening["transport"];
  /**
   * Leave to read, which may end: called once, it says so to what it is given, and the reader ends with that as its
   * `error`. Throws where there is none. What it gives is called when the reader has ended, however.
   */
  readonly lease?: ((onEnd: (why: LoomError) => void) => () => void) | undefined;
  /** The reader is gone. */
  readonly signal?: AbortSignal | undefined;
}

/**
 * - `end`: the end that was asked for.
 * - `slow`: it did not take what came; the cursor says where to go on.
 * - `closing`: the server is about to stop; the cursor says where to go on, with whoever comes next.
 * - `left`: the reader has closed it.
 * - `error`: it cannot go on; `error` says why.
 */
export interface ReaderEnd {
  readonly reason: "end" | "slow" | "closing" | "left" | "error";
  /** Of the last frame that was given; where nothing was, that of the place it began at. */
  readonly cursor: string;
  readonly error?: unknown;
}

export interface Sink {
  /**
   * Asked before a chunk is given, where several sinks share one way out. False: nothing is given now; it will call
   * `resume`. Where it is absent there is always room for one.
   */
  mayWrite?(): boolean;
  /** False: it is full, and will call `resume` when it wants more. This chunk is taken all the same. */
  write(chunk: Chunk): boolean;
  end(end: ReaderEnd): void;
}

export interface Reader {
  readonly session: SessionInfo;
  /** Where it begins, frames to skip not counted. */
  readonly cursor: string;
  /** Once. Nothing is read for the sink before. */
  start(sink: Sink): void;
  /** There is room again. */
  resume(): void;
  /** Nobody wants more: `left`; or `slow`, where the door has found out that nobody reads, and tells the meter. */
  close(reason?: "left" | "slow"): void;
}

export interface StreamLimits {
  /** Bytes of one frame; what a receiver reads, unless told otherwise. Code `frame_too_long`. */
  readonly maxFrameBytes: number;
  /** Bytes that came while a sink was full; past it the reader is closed as `slow`. Code `backlog_full`. */
  readonly maxLagBytes: number;
  /** How long a sink may be full while there is something for it; then the reader is closed as `slow`. */
  readonly maxStallMs: number;
  /** Bytes of frames kept for those who join or lag, for each stream that somebody follows. */
  readonly maxSharedBytes: number;
  /** How long a stream that nobody follows any more is kept, for those who come back. */
  readonly lingerMs: number;
  /** Readers that may be brought up to date at once; the others wait for their turn. */
  readonly maxCatchUps: number;
  /** Readers in all. Code `too_many_open`. */
  readonly maxReaders: number;
}

export interface Streams {
  /**
   * Resolves when the place is known to be good, without waiting for anything to come; rejects with what is wrong with
   * it, or with the first frame. Undefined where the signal was aborted before that.
   */
  open(sessionId: string, request: ReadRequest): Promise<Reader | undefined>;
  /** Readers now. */
  readonly size: number;
  /** Ends every reader as `closing`; whoever asks afterwards is refused as `shutting_down`. */
  close(): Promise<void>;
}
