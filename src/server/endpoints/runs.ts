/** Runs over HTTP: a message starts one, and its stream comes in the same answer where it is wanted. */
import { type AnyOperation, type ApiCall, defineOperation } from "../api/operation.ts";
import type { ServerCore } from "../server-core.ts";
import { addressOfRun } from "./addresses.ts";
import { KEY_HEADER, readKey } from "./command-endpoint.ts";
import { cutPage, describeRun, readPage } from "./describe-session.ts";
import { findRun, findSession } from "./find-session.ts";
import { deriveSessionId } from "./derive-session-id.ts";
import { describeStarted, startRun } from "./start-run.ts";
import { assertView, PLACE_HEADERS, readFramingOrJson, sendRun, STREAM_TYPES } from "./stream-endpoint.ts";

const ANSWERS = {
  200: {
    about:
      "With `Accept: text/event-stream` or NDJSON, the stream of the run, to its end; else a run that is over already",
    shape: "StartedRun",
    mediaTypes: STREAM_TYPES,
  },
  202: { about: "It runs, or waits for its turn", shape: "StartedRun" },
} as const;

const HEADERS = { ...KEY_HEADER, ...PLACE_HEADERS };

const DESCRIPTION =
  "The session is made where there is none. Whoever leaves does not stop the run. Asked again with its key it is the same run, told from its beginning or after `Last-Event-ID`.";

const startInSession = defineOperation<"StreamView", "StartRun">({
  id: "startRun",
  method: "POST",
  path: "/v1/sessions/{id}/runs",
  tag: "runs",
  summary: "A message of the user, for an agent to answer",
  description: DESCRIPTION,
  params: { id: "Id of the session" },
  headers: HEADERS,
  query: "StreamView",
  body: "StartRun",
  action: "runs.start",
  answers: ANSWERS,
  handle: (core, call) => start(core, call, call.params["id"] ?? "", readKey(call.request)),
});

const startAnywhere = defineOperation<"StreamView", "StartRun">({
  id: "startRunInNewSession",
  method: "POST",
  path: "/v1/runs",
  tag: "runs",
  summary: "A message that begins a new session",
  description: `${DESCRIPTION} The id of the session follows from the key.`,
  headers: HEADERS,
  query: "StreamView",
  body: "StartRun",
  action: "runs.start",
  answers: ANSWERS,
  async handle(core, call) {
    const key = readKey(call.request);
    const session = deriveSessionId(key, call.caller.principal.owner);
    await core.authorize({ caller: call.caller, action: "runs.start", session });
    return start(core, call, session, key);
  },
});

async function start(
  core: ServerCore,
  call: ApiCall<"StreamView", "StartRun">,
  session: string,
  key: string,
): Promise<Response> {
  const framing = readFramingOrJson(call.request);
  const { dialect, modes } = call.query;
  if (framing !== "json") {
    // Whose the session is was asked; that it may be read, where it is made only now, is a matter of the caller alone.
    await core.authorize({ caller: call.caller, action: "sessions.read" });
    await assertView(core, session, { dialect, modes }, call.request);
  }
  const asked = await startRun(core, call.caller, { ...call.body, session, key });
  if (framing !== "json") return sendRun(core, call, asked, { dialect, modes }, framing);
  const started = await describeStarted(core, asked);
  const isOver = started.status !== "queued" && started.status !== "live";
  const location = addressOfRun(core, session, asked.run);
  return Response.json(started, { status: isOver ? 200 : 202, headers: { location } });
}

const listRuns = defineOperation<"ListPage">({
  id: "listRuns",
  method: "GET",
  path: "/v1/sessions/{id}/runs",
  tag: "runs",
  summary: "The runs of a session, newest first",
  params: { id: "Id of the session" },
  query: "ListPage",
  action: "sessions.read",
  answers: { 200: { about: "The runs", shape: "Runs" } },
  async handle({ log }, call) {
    const session = call.params["id"] ?? "";
    await findSession(log, session);
    const { limit, ...place } = readPage(call.query);
    const found = await log.listRuns(session, { ...place, limit: limit + 1 });
    const { items, ...next } = cutPage(found, limit, ({ runId }) => runId);
    return Response.json({ runs: items.map(describeRun), ...next });
  },
});

const getRun = defineOperation({
  id: "getRun",
  method: "GET",
  path: "/v1/sessions/{id}/runs/{run}",
  tag: "runs",
  summary: "How a run stands",
  params: { id: "Id of the session", run: "Id of the run" },
  action: "sessions.read",
  answers: { 200: { about: "The run", shape: "Run" } },
  async handle({ log }, { params: { id: session = "", run = "" } }) {
    return Response.json(describeRun(await findRun(log, session, run)));
  },
});

export const RUN_OPERATIONS: readonly AnyOperation[] = [startInSession, startAnywhere, listRuns, getRun];
