/**
 * The contract of stream readers: what a client requests, the sink that receives batches, and the limits. All readers of
 * a process share one `Streams`, so that identical streams are encoded once.
 *
 * Invariants:
 * - A full sink receives nothing until `resume`. A slow reader keeps a position, not a queue.
 * - `end` of a sink is called once, and last.
 */
import type { SessionInfo } from "../../log/index.ts";
import type { StreamOpening } from "../../observe/metrics/server-meter.ts";
import type { LoomError } from "../../protocol/index.ts";
import type { FrameBatch, EndAt } from "./frame-batch.ts";
import type { StreamSelection } from "./stream-selection.ts";

export interface ReadRequest extends StreamSelection {
  /** Wait for new records after the last one. */
  readonly follow: boolean;
  /** Maximum frames to send. Default: no limit. */
  readonly limit?: number | undefined;
  /**
   * Only the records of this run, from its `run_start` (or the requested position) to its last record. The reader then
   * ends. Waits for a run that has not started.
   */
  readonly run?: string | undefined;
  /** The command that starts the run. If it is refused, the reader ends with the reason. */
  readonly command?: string | undefined;
  /** For the `lumine` dialect: also send changes outside a request, as they happen. */
  readonly followSession?: boolean | undefined;
  readonly transport: StreamOpening["transport"];
  /**
   * Acquires permission to read, which can be revoked. Called once; throws when access is denied. Calling `onEnd` ends
   * the reader with that error. The returned function is called when the reader has ended for any reason.
   */
  readonly lease?: ((onEnd: (why: LoomError) => void) => () => void) | undefined;
  /** Aborted when the client disconnects. */
  readonly signal?: AbortSignal | undefined;
  /**
   * For streams of one run: called for each frame. A frame that it returns is sent instead, and the stream ends with it.
   */
  readonly endAt?: EndAt | undefined;
  /** Called once if the client disconnects before the end of the stream. */
  readonly onLeave?: (() => void) | undefined;
}

/**
 * Why a reader ended:
 * - `end`: the requested range is complete.
 * - `slow`: the sink did not read fast enough. Resume at `cursor`.
 * - `closing`: the server is shutting down. Resume at `cursor` with the next server.
 * - `left`: the client closed the reader.
 * - `error`: the stream failed with `error`.
 */
export interface ReaderEnd {
  readonly reason: "end" | "slow" | "closing" | "left" | "error";
  /** The cursor of the last delivered frame, or the start of the reader when it delivered none. */
  readonly cursor: string;
  readonly error?: unknown;
}

export interface Sink {
  /**
   * Called before each batch, for sinks that share a connection. Returns false when there is no room; the sink then
   * calls `resume` later. Without it, the sink always has room for one batch.
   */
  mayWrite?(): boolean;
  /** Takes the batch. Returns false when the sink is now full; it then calls `resume` when it has room. */
  write(batch: FrameBatch): boolean;
  /** Called once when a reader that follows has delivered everything stored so far. */
  catchUp?(): void;
  end(end: ReaderEnd): void;
}

export interface StreamReader {
  readonly session: SessionInfo;
  /** The start of the reader, before skipped frames. */
  readonly cursor: string;
  /** Starts delivery. May be called once. */
  start(sink: Sink): void;
  /** The sink has room again. */
  resume(): void;
  /**
   * Ends the reader. Pass `slow` for a client that does not read; the caller then also reports it to the meter. Pass
   * `end` if the client has all that it asked for. Default: `left`.
   */
  close(reason?: "left" | "slow" | "end"): void;
}

export interface Streams {
  /**
   * Opens a reader. Resolves when the requested position is valid, without waiting for new records. Rejects when the
   * position or the first frame is invalid. Resolves to undefined when the signal was aborted first.
   */
  open(sessionId: string, request: ReadRequest): Promise<StreamReader | undefined>;
  /**
   * Whether a client of this server disconnected from the run before its end, and no other client reads the session
   * here. Other servers may have readers.
   */
  isLeft(sessionId: string, run: string): boolean;
  /** The number of open readers. */
  readonly size: number;
  /** Approximate memory of the frames retained for readers, in bytes. */
  readonly heldBytes: number;
  /** Ends every reader with `closing`. Later calls to `open` are refused with `shutting_down`. */
  close(): Promise<void>;
}
