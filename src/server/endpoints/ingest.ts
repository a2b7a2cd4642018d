/**
 * Endpoint for foreign agents: a run that happens elsewhere is streamed in, in any dialect, and becomes part of a
 * durable session. `ingestStream` reads the stream.
 */
import { type Dialect, DIALECTS } from "../../dialects/index.ts";
import type { Framing } from "../../framing/detect-framing.ts";
import { LoomError } from "../../protocol/index.ts";
import { type ApiCall, defineOperation } from "../api/operation.ts";
import type { ApiShapeMap } from "../api/shapes.generated.ts";
import { ensureOwnSession } from "../commands/command-author.ts";
import { authorOf } from "../commands/command-host.ts";
import { ingestStream, type IngestSummary } from "../ingest/ingest-stream.ts";
import type { ServerCore } from "../api/server-core.ts";

const FRAMINGS: { readonly [mediaType: string]: Framing } = {
  "text/event-stream": "sse",
  "application/x-ndjson": "ndjson",
  "application/ndjson": "ndjson",
  "application/jsonl": "ndjson",
  "application/x-jsonlines": "ndjson",
};

export const ingestRun = defineOperation({
  id: "ingestRun",
  method: "POST",
  path: "/v1/sessions/{id}/ingest",
  summary: "Ingest a foreign agent's run into a session",
  description:
    "The body is a stream of frames in one dialect, as server-sent events or NDJSON. It is checked and written as it arrives, and clients that follow the session see it live. The first frame that violates a required rule is rejected with its line and rule (`ingest_invalid`); earlier frames are kept, and their run ends with an error. A body that stops in the middle of a run is accepted: the run ends as `stream_cut`, and missing parts are listed as warnings. A body without records is rejected (`ingest_invalid`) and creates no session.",
  params: { id: "Id of the session; created if missing" },
  query: "IngestQuery",
  rawBodyTypes: ["application/x-ndjson", "text/event-stream", "*/*"],
  action: "ingest",
  responses: {
    201: { description: "Everything is stored durably", shape: "IngestResult" },
    408: { description: "The sender was idle for too long: `request_timeout`", shape: "Problem" },
    409: { description: "A run is live, or another process holds the session", shape: "Problem" },
    413: { description: "The body is too large: `body_too_large`", shape: "Problem" },
    422: {
      description:
        "A frame violates a required rule, or the body has no records: `ingest_invalid` with `line`, `rule` and `accepted`",
      shape: "Problem",
    },
  },
  async handle(core, call) {
    const { id = "" } = call.params;
    const { body } = call.request;
    const abort = watchAbort(core, call);
    const author = authorOf(core, call.caller);
    try {
      const ingested = await ingestStream({
        log: core.log,
        sessionId: id,
        createSession: () => ensureOwnSession(core.log, author, id),
        actor: author.actor,
        body: body ?? new Blob().stream(),
        dialect: readDialect(call.query),
        framing: readFraming(call),
        whenTaken: call.query.when_taken,
        maxBytes: core.limits.maxIngestBytes,
        maxFrameBytes: core.limits.maxFrameBytes,
        idleMs: core.limits.ingestIdleMs,
        waitMs: core.limits.commandTimeoutMs,
        signal: abort.signal,
        report: (error) => core.report(error),
      });
      return Response.json(describeIngested(id, ingested), { status: 201 });
    } finally {
      abort.stop();
      await dispatchPending(core, id);
    }
  },
});

/** Messages that arrived during the ingest waited for the session. */
async function dispatchPending({ log, runs }: ServerCore, sessionId: string): Promise<void> {
  const waiting = await log.listPending(sessionId, 1).catch(() => []);
  if (waiting.length > 0) void runs.dispatch(sessionId);
}

/**
 * Returns a signal that is aborted, with the error to report, when the sender disconnects, loses its permission, or the
 * server shuts down.
 */
function watchAbort(
  { closing, access }: ServerCore,
  { signal, caller }: ApiCall<"IngestQuery", "Empty">,
): { readonly signal: AbortSignal; stop(): void } {
  const end = new AbortController();
  const onClosing = () => end.abort(new LoomError("shutting_down", "The server is shutting down"));
  const release = access.watch(caller, undefined, (why) => end.abort(why));
  const onGone = () => end.abort(new LoomError("stream_cut", "The sender disconnected"));
  if (closing.aborted) onClosing();
  if (signal.aborted) onGone();
  closing.addEventListener("abort", onClosing, { once: true });
  signal.addEventListener("abort", onGone, { once: true });
  return {
    signal: end.signal,
    stop() {
      release();
      closing.removeEventListener("abort", onClosing);
      signal.removeEventListener("abort", onGone);
    },
  };
}

function readDialect({ dialect = "auto" }: ApiShapeMap["IngestQuery"]): Dialect | undefined {
  return dialect === "auto" ? undefined : DIALECTS[dialect];
}

/**
 * curl sends every body as form data, so an unknown media type is ignored and the framing is detected from the first
 * bytes.
 */
function readFraming({ query, request }: ApiCall<"IngestQuery", "Empty">): Framing | undefined {
  if (query.framing !== undefined && query.framing !== "auto") return query.framing;
  const [mediaType = ""] = (request.headers.get("content-type") ?? "").split(";");
  return FRAMINGS[mediaType.trim().toLowerCase()];
}

export function describeIngested(
  session_id: string,
  { dialect, frames, runs, warnings, warningCount }: IngestSummary,
): ApiShapeMap["IngestResult"] {
  return {
    session_id,
    dialect: dialect.name,
    frames,
    runs: runs.map(({ runId, status, code, firstId, lastId }) => ({
      run_id: runId,
      status,
      ...(code === undefined ? {} : { code }),
      first_event_id: firstId,
      last_event_id: lastId,
    })),
    warnings: [...warnings],
    warning_count: warningCount,
  };
}
