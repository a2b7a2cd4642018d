/** The stream of one run as a `Response`, for any server that speaks the web's Request and Response. */
import type { DialectName } from "../dialects/index.ts";
import { encodeNdjson, encodeSse } from "../framing/index.ts";
import type { Log, RunInfo } from "../log/index.ts";
import { openStreamSteps, type StreamFrame } from "../log/stream.ts";

/** Options of `RunRecording.toResponse`. */
export interface RunResponseOptions {
  /** Dialect of the frames. Default: `loom`. */
  readonly dialect?: DialectName;
  /** Server-sent events or lines of JSON. Default: `sse`. */
  readonly framing?: "sse" | "ndjson";
}

const MEDIA_TYPES = { sse: "text/event-stream", ndjson: "application/x-ndjson" } as const;

/**
 * Sends a run from its start to its end, at the reader's pace. It reads only the log, so it does not matter which process
 * executes the run, and a reader that leaves does not affect it.
 */
export function createRunResponse(
  log: Log,
  sessionId: string,
  { runId, firstId }: Pick<RunInfo, "runId" | "firstId">,
  { dialect = "loom", framing = "sse" }: RunResponseOptions,
): Response {
  const left = new AbortController();
  const steps = openStreamSteps(log, sessionId, {
    dialect,
    after: firstId - 1,
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
      for (;;) {
        const { done, value } = await steps.next();
        if (done === true) break;
        if (value.mayEndRun) lastId = (await log.getRun(sessionId, runId))?.lastId ?? lastId;
        const text = value.frames.map(encode).join("");
        if (text !== "") controller.enqueue(bytes.encode(text));
        if ((value.through ?? 0) >= lastId) break;
        if (text !== "") return;
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
