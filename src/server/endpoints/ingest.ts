/**
 * The door for foreign agents: a run that goes on elsewhere is streamed in, in any dialect, and becomes part of a durable
 * session. How the stream is read is not known here.
 */
import { type Dialect, DIALECTS } from "../../dialects/index.ts";
import type { Framing } from "../../framing/index.ts";
import { LoomError } from "../../protocol/index.ts";
import { type ApiCall, defineOperation } from "../api/operation.ts";
import type { ApiShapeMap } from "../api/shapes.generated.ts";
import { makeOwn } from "../commands/command-author.ts";
import { authorOf } from "../commands/commands-for.ts";
import { ingestStream, type Ingested } from "../ingest/ingest-stream.ts";
import type { ServerCore } from "../server-core.ts";

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
  tag: "ingest",
  summary: "Streams a foreign agent's run into a session",
  description:
    "The body is a stream of frames in one dialect, as server-sent events or one JSON object a line. It is checked and written as it comes, and whoever follows the session sees it. The first frame that breaks a must is refused with its line and rule (`ingest_invalid`); what came before is kept, and its run ends as an error. A body that stops in the middle of a run is taken: the run ends as `stream_cut`, and what was left open is among the warnings. A body without a record is refused (`ingest_invalid`), and makes no session.",
  params: { id: "Session; made if there is none" },
  query: "IngestQuery",
  takes: ["application/x-ndjson", "text/event-stream", "*/*"],
  action: "ingest",
  answers: {
    201: { about: "All of it is durable", shape: "IngestAnswer" },
    408: { about: "The sender was silent for too long: `request_timeout`", shape: "Problem" },
    409: { about: "A run is live, or somebody else writes the session", shape: "Problem" },
    413: { about: "The body is too large: `body_too_large`", shape: "Problem" },
    422: {
      about: "A frame breaks a must, or there is no record: `ingest_invalid`, with `line`, `rule` and `accepted`",
      shape: "Problem",
    },
  },
  async handle(core, call) {
    const { id = "" } = call.params;
    const { body } = call.request;
    const gone = watchEnd(core, call);
    const author = authorOf(core, call.caller);
    try {
      const ingested = await ingestStream({
        log: core.log,
        sessionId: id,
        make: () => makeOwn(core.log, author, id),
        actor: author.actor,
        body: body ?? new Blob().stream(),
        dialect: readDialect(call.query),
        framing: readFraming(call),
        whenTaken: call.query.when_taken,
        maxBytes: core.limits.maxIngestBytes,
        maxFrameBytes: core.limits.maxFrameBytes,
        idleMs: core.limits.ingestIdleMs,
        waitMs: core.limits.commandTimeoutMs,
        signal: gone.signal,
        report: (error) => core.report(error),
      });
      return Response.json(describeIngested(id, ingested), { status: 201 });
    } finally {
      gone.stop();
      await attendWaiting(core, id);
    }
  },
});

/** Messages that came meanwhile had to wait for the session. */
async function attendWaiting({ log, runs }: ServerCore, sessionId: string): Promise<void> {
  const waiting = await log.listPending(sessionId, 1).catch(() => []);
  if (waiting.length > 0) runs.attend(sessionId);
}

/** Aborted when the sender is gone, or may no longer, or the server is about to stop, with what is to be told of it. */
function watchEnd(
  { closing, access }: ServerCore,
  { signal, caller }: ApiCall<"IngestQuery", "Nothing">,
): { readonly signal: AbortSignal; stop(): void } {
  const end = new AbortController();
  const onClosing = () => end.abort(new LoomError("shutting_down", "the server is about to stop"));
  const release = access.watch(caller, undefined, (why) => end.abort(why));
  const onGone = () => end.abort(new LoomError("stream_cut", "the sender is gone"));
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

/** Curl says of any body that it is a form: what is not said to be one of ours is told from its first bytes. */
function readFraming({ query, request }: ApiCall<"IngestQuery", "Nothing">): Framing | undefined {
  if (query.framing !== undefined && query.framing !== "auto") return query.framing;
  const [mediaType = ""] = (request.headers.get("content-type") ?? "").split(";");
  return FRAMINGS[mediaType.trim().toLowerCase()];
}

function describeIngested(
  session_id: string,
  { dialect, frames, runs, warnings, warningCount }: Ingested,
): ApiShapeMap["IngestAnswer"] {
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
