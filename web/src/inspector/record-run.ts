/**
 * Reads the frames of a run to its end, in any dialect: what is live is followed, what is cut is asked for again from
 * where it was cut. It gives up after so many tries in a row that brought nothing.
 */
import type { DialectName } from "loom-agent/dialects";
import type { InspectorApi, ReadFrame } from "./inspector-api.ts";

/** How long it waits before each try; after the last of them it fails. */
export const RETRY_MS: readonly number[] = [500, 1000, 2000, 4000, 8000];
/** So many frames are taken in before the page gets its turn. */
const BATCH = 500;

/** reading: frames come; whole: it is over; failed: the rest did not come. */
export type ReadingStatus = "reading" | "whole" | "failed";

/** Whoever keeps the frames of a run. */
export interface FrameKeeper {
  readonly session: string;
  readonly runId: string;
  readonly dialect: DialectName;
  readonly count: number;
  /** Where to go on after all that came. */
  readonly cursor: string | undefined;
  /** Whether the end of the run is among them, where that can be told. */
  readonly isOver?: boolean | undefined;
  add(frame: ReadFrame): void;
  setStatus(status: ReadingStatus, error?: string): void;
}

export interface RecordOptions {
  readonly api: InspectorApi;
  readonly signal: AbortSignal;
  /** Whether the run goes on: only then is waited for more than there is. */
  readonly isLive: () => boolean;
  readonly wait?: (ms: number, signal: AbortSignal) => Promise<void>;
}

/** Resolves when nothing more will come; the keeper's status says why. Never rejects. */
export async function recordRun(
  recording: FrameKeeper,
  { api, signal, isLive, wait = sleep }: RecordOptions,
): Promise<void> {
  const { session, runId, dialect } = recording;
  recording.setStatus("reading");
  for (let tries = 0; ; tries++) {
    const before = recording.count;
    try {
      const request = { dialect, after: recording.cursor, follow: isLive(), signal };
      let taken = 0;
      for await (const frame of api.readFrames(session, runId, request)) {
        if (signal.aborted) return;
        recording.add(frame);
        if (++taken % BATCH === 0) await wait(0, signal);
      }
      if (signal.aborted) return;
      // A server that goes down ends its streams in good order, too.
      if (request.follow && !(recording.isOver ?? !isLive())) throw new Error("the stream ended before the run did");
      recording.setStatus("whole");
      return;
    } catch (error) {
      if (signal.aborted) return;
      if (recording.count > before) tries = 0;
      const delay = RETRY_MS[tries];
      if (delay === undefined || !mayHelpAgain(error)) {
        recording.setStatus("failed", error instanceof Error ? error.message : String(error));
        return;
      }
      await wait(delay, signal);
      if (signal.aborted) return;
    }
  }
}

/** A server that says no says it again; what has no code, or was lost on the way, may come the next time. */
function mayHelpAgain(error: unknown): boolean {
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
