/** The stream of one run as a `Response`, for any server that speaks the web's Request and Response. */
import { type DialectName, isDialectName } from "../dialects/index.ts";
import { openSession } from "../engine/index.ts";
import { encodeNdjson, encodeSse } from "../framing/index.ts";
import type { Log, RunInfo } from "../log/index.ts";
import { openStreamSteps, type StreamFrame } from "../log/stream.ts";
import { describeValue } from "../protocol/fault.ts";
import { LoomError } from "../protocol/index.ts";

/** Options of `ForeignRecording.toResponse` and `resumeRun`. */
export interface RunResponseOptions {
  /** Dialect of the frames. Default: `loom`. */
  readonly dialect?: DialectName;
  /** Server-sent events or lines of JSON. Default: `sse`. */
  readonly framing?: "sse" | "ndjson";
}

/** Milliseconds between checks whether the process of the run is alive. */
const HOLDER_CHECK_MS = 1000;

const MEDIA_TYPES = { sse: "text/event-stream", ndjson: "application/x-ndjson" } as const;

/**
 * Sends a run to its end, at the reader's pace: from its start, or after a cursor. It reads only the log, so it does not
 * matter which process executes the run, and a reader that leaves does not affect it. A run whose process died ends as
 * `interrupted`, unless another process can continue it. Throws `invalid_arguments` for an unknown dialect or framing.
 */
export function createRunResponse(
  log: Log,
  sessionId: string,
  { runId, firstId }: Pick<RunInfo, "runId" | "firstId">,
  { dialect = "loom", framing = "sse" }: RunResponseOptions,
  cursor?: string,
): Response {
  if (!isDialectName(dialect)) throw new LoomError("invalid_arguments", `Unknown dialect ${describeValue(dialect)}`);
  if (!Object.hasOwn(MEDIA_TYPES, framing))
    throw new LoomError("invalid_arguments", `\`framing\` must be sse or ndjson, not ${describeValue(framing)}`);
  const left = new AbortController();
  recoverOrphan(log, sessionId, runId, left.signal);
  const steps = openStreamSteps(log, sessionId, {
    dialect,
    ...(cursor === undefined ? { after: firstId - 1 } : { cursor }),
    follow: true,
    signal: left.signal,
    detectRunEnds: true,
  });
  const bytes = new TextEncoder();
  const encode = ({ text, cursor }: StreamFrame): string =>
    framing === "sse" ? encodeSse({ data: text, id: cursor }) : encodeNdjson(text);
  let lastId = Number.POSITIVE_INFINITY;
  const body = new ReadableStream<Uint8Array>({
    async pull(controller) {
      try {
        for (;;) {
          const { done, value } = await steps.next();
          if (done === true) break;
          if (value.mayEndRun) lastId = (await log.getRun(sessionId, runId))?.lastId ?? lastId;
          const text = value.frames.map(encode).join("");
          if (text !== "") controller.enqueue(bytes.encode(text));
          if ((value.through ?? 0) >= lastId) break;
          if (text !== "") return;
        }
      } catch (error) {
        left.abort();
        throw error;
      }
      left.abort();
      controller.close();
    },
    cancel: () => left.abort(),
  });
  return new Response(body, {
    headers: {
      "content-type": MEDIA_TYPES[framing],
      "cache-control": "no-store",
      "x-loom-session": encodeURIComponent(sessionId),
      "x-loom-run": encodeURIComponent(runId),
      // Clients of the AI SDK recognize the stream by it.
      ...(dialect === "ai-sdk" ? { "x-vercel-ai-ui-message-stream": "v1" } : {}),
    },
  });
}

/** Opens the session if it loses its holder before the run ends, which recovers the run. Tried once. */
function recoverOrphan(log: Log, sessionId: string, runId: string, signal: AbortSignal): void {
  const check = async (): Promise<void> => {
    if ((await log.getSession(sessionId))?.holder !== undefined) return;
    if ((await log.getRun(sessionId, runId))?.status !== "live" || signal.aborted) return;
    clearInterval(timer);
    await using session = await openSession(log, sessionId, { deadRuns: "leave", create: false });
    await session.idle();
  };
  // Another process may open the session first. If the store fails, so does the stream.
  const timer = setInterval(() => void check().catch(() => undefined), HOLDER_CHECK_MS);
  signal.addEventListener("abort", () => clearInterval(timer));
}
