/** The stream of one run as a `Response`, for any server that speaks the web's Request and Response. */
import { DIALECT_NAMES, type DialectName } from "../dialects/dialect.ts";
import { openSession } from "../engine/index.ts";
import { encodeNdjson, encodeSse } from "../framing/index.ts";
import type { Log, RunInfo } from "../log/index.ts";
import { BackOff } from "../log/back-off.ts";
import { openStreamSteps, type StreamFrame, type StreamOptions, type StreamStep } from "../log/stream.ts";
import { acceptOneOf, type OptionTable, readOptions, withDefault } from "../protocol/read-options.ts";

/** Options of `ForeignRecording.toResponse` and `resumeRun`. */
export interface RunResponseOptions {
  /** Dialect of the frames. Default: `loom`. */
  readonly dialect?: DialectName;
  /** Server-sent events or lines of JSON. Default: `sse`. */
  readonly framing?: "sse" | "ndjson";
}

const OPTIONS = {
  dialect: withDefault(acceptOneOf(DIALECT_NAMES), "loom"),
  framing: withDefault(acceptOneOf(["sse", "ndjson"]), "sse"),
} as const satisfies OptionTable<RunResponseOptions>;

/**
 * Milliseconds without a record after which a waiting response checks whether the process of the run is alive. Doubled
 * with every check, see `BackOff`.
 */
const HOLDER_CHECK_MS = 1000;
/** A response that is not read for this many milliseconds releases the log. It continues when it is read again. */
const UNREAD_MS = 60_000;

const MEDIA_TYPES = { sse: "text/event-stream", ndjson: "application/x-ndjson" } as const;

/**
 * Sends a run to its end, at the reader's pace: from its start, or after a cursor. It reads only the log, so it does not
 * matter which process executes the run, and a reader that leaves does not affect it. A response that is not read uses
 * nothing of the log. A run whose process died ends as `interrupted`, unless another process can continue it. Throws
 * `invalid_arguments` for an unknown dialect or framing.
 */
export function createRunResponse(
  log: Log,
  sessionId: string,
  { runId, firstId }: Pick<RunInfo, "runId" | "firstId">,
  options: RunResponseOptions,
  cursor?: string,
): Response {
  const { dialect, framing } = readOptions(OPTIONS, options);
  const encode = ({ text, cursor }: StreamFrame): string =>
    framing === "sse" ? encodeSse({ data: text, id: cursor }) : encodeNdjson(text);
  const start = { sessionId, runId, dialect, ...(cursor === undefined ? { after: firstId - 1 } : { cursor }) };
  // Nothing is read ahead: it starts when it is read.
  const body = new ReadableStream(createRunBody(log, start, encode), { highWaterMark: 0 });
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

/** The run and the position after which a response continues. */
interface ResponseStart extends Pick<StreamOptions, "dialect" | "after" | "cursor"> {
  readonly sessionId: string;
  readonly runId: string;
}

function createRunBody(
  log: Log,
  start: ResponseStart,
  encode: (frame: StreamFrame) => string,
): UnderlyingDefaultSource<Uint8Array> {
  const { sessionId, runId, dialect } = start;
  const bytes = new TextEncoder();
  let lastId = Number.POSITIVE_INFINITY;
  let position = start;
  let stream: RunStream | undefined;
  let unread: NodeJS.Timeout | undefined;
  const release = (): void => {
    clearTimeout(unread);
    stream?.close();
    stream = undefined;
  };
  const readText = async (from: RunStream): Promise<{ readonly text: string; readonly isLast: boolean }> => {
    for (;;) {
      const { done, value } = await from.next();
      if (done === true) return { text: "", isLast: true };
      if (value.mayEndRun) lastId = (await log.getRun(sessionId, runId))?.lastId ?? lastId;
      const cursor = value.frames.at(-1)?.cursor;
      if (cursor !== undefined) position = { sessionId, runId, dialect, cursor };
      const text = value.frames.map(encode).join("");
      const isLast = (value.through ?? 0) >= lastId;
      if (text !== "" || isLast) return { text, isLast };
    }
  };
  return {
    async pull(controller) {
      clearTimeout(unread);
      stream ??= openRunStream(log, position);
      const { text, isLast } = await readText(stream).catch((error: unknown) => {
        release();
        throw error;
      });
      // The reader has left.
      if (stream === undefined) return;
      if (text !== "") controller.enqueue(bytes.encode(text));
      if (!isLast) {
        unread = setTimeout(release, UNREAD_MS).unref();
        return;
      }
      release();
      controller.close();
    },
    cancel: release,
  };
}

interface RunStream {
  next(): Promise<IteratorResult<StreamStep, void>>;
  close(): void;
}

/**
 * Reads the records of a run. While a record is awaited, checks whether the session has lost its holder, and opens it
 * then, once, which recovers the run.
 */
function openRunStream(log: Log, { sessionId, runId, ...position }: ResponseStart): RunStream {
  const left = new AbortController();
  let isTried = false;
  let isWaiting = false;
  const holder = new BackOff(HOLDER_CHECK_MS, async () => {
    const isHeld = (await log.getSession(sessionId))?.holder !== undefined;
    if (!isWaiting) return;
    if (isHeld) {
      holder.plan();
      return;
    }
    if ((await log.getRun(sessionId, runId))?.status !== "live" || left.signal.aborted) return;
    isTried = true;
    // Another process may open the session first. If the store fails, so does the stream.
    await recoverSession(log, sessionId).catch(() => undefined);
  });
  const expect = (isExpected: boolean): void => {
    isWaiting = isExpected && !isTried;
    holder.reset();
    if (isWaiting) holder.plan();
  };
  const unwatch = log.watchOrphans?.(() => isWaiting && holder.hasten());
  const steps = openStreamSteps(log, sessionId, {
    ...position,
    follow: true,
    signal: left.signal,
    detectRunEnds: true,
  });
  return {
    async next() {
      expect(true);
      return steps.next().finally(() => expect(false));
    },
    close() {
      holder.stop();
      unwatch?.();
      left.abort();
      // Between two steps, the signal alone would not end it.
      void steps.return();
    },
  };
}

async function recoverSession(log: Log, sessionId: string): Promise<void> {
  await using session = await openSession(log, sessionId, { deadRuns: "leave", create: false });
  await session.idle();
}
