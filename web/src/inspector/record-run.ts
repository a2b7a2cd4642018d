/**
 * Reads the frames of a run to its end, in any dialect. It follows live runs, and continues a broken stream after its
 * last cursor. It fails after several attempts in a row without a new frame.
 */
import type { DialectName } from "loom-agent/dialects";
import type { ReadingStatus } from "./frame-store.ts";
import type { InspectorApi, WireFrame } from "./inspector-api.ts";

/** Delay before each retry. After the last one, reading fails. */
export const RETRY_MS: readonly number[] = [500, 1000, 2000, 4000, 8000];
/** Frames read before the browser may render. */
const BATCH = 500;

/** Collects the frames of a run. */
export interface FrameCollector {
  readonly session: string;
  readonly runId: string;
  readonly dialect: DialectName;
  readonly frames: {
    readonly count: number;
    setStatus(status: ReadingStatus, error?: string): void;
  };
  /** Cursor of the last frame. */
  readonly cursor: string | undefined;
  /** Whether the run has ended; undefined if unknown. */
  readonly isOver?: boolean | undefined;
  add(frame: WireFrame): void;
}

export interface RecordOptions {
  readonly api: Pick<InspectorApi, "readFrames">;
  readonly signal: AbortSignal;
  /** Whether the run is live. Only then the stream is followed. */
  readonly isLive: () => boolean;
  readonly wait?: (ms: number, signal: AbortSignal) => Promise<void>;
}

/** Resolves when reading ends; the collector's status tells how. Never rejects. */
export async function recordRun(
  recording: FrameCollector,
  { api, signal, isLive, wait = sleep }: RecordOptions,
): Promise<void> {
  const { session, runId, dialect, frames } = recording;
  frames.setStatus("reading");
  for (let tries = 0; ; tries++) {
    const before = frames.count;
    try {
      const request = { dialect, after: recording.cursor, follow: isLive(), signal };
      let taken = 0;
      for await (const frame of api.readFrames(session, runId, request)) {
        if (signal.aborted) return;
        recording.add(frame);
        if (++taken % BATCH === 0) await wait(0, signal);
      }
      if (signal.aborted) return;
      // A server that shuts down also ends its streams normally.
      if (request.follow && !(recording.isOver ?? !isLive())) throw new Error("The stream ended before the run.");
      frames.setStatus("whole");
      return;
    } catch (error) {
      if (signal.aborted) return;
      if (frames.count > before) tries = 0;
      const delay = RETRY_MS[tries];
      if (delay === undefined || !isRetryable(error)) {
        frames.setStatus("failed", error instanceof Error ? error.message : String(error));
        return;
      }
      await wait(delay, signal);
      if (signal.aborted) return;
    }
  }
}

/** A refusal is final. Lost connections and errors without a code may be temporary. */
function isRetryable(error: unknown): boolean {
  const code = error instanceof Error && "code" in error ? error.code : undefined;
  return typeof code !== "string" || code === "connection_lost" || code === "bad_answer";
}

function sleep(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const end = (): void => {
      clearTimeout(timer);
      signal.removeEventListener("abort", end);
      resolve();
    };
    const timer = setTimeout(end, ms);
    signal.addEventListener("abort", end, { once: true });
  });
}
