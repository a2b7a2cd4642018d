/** Endpoints for runs: a message starts one, and the response can be its stream. */
import { formatCursor } from "../../log/cursor.ts";
import { type AnyOperation, type ApiCall, defineOperation } from "../api/operation.ts";
import type { ServerCore } from "../api/server-core.ts";
import type { StartedRun } from "../api/shapes.generated.ts";
import type { CommandHost } from "../commands/command-host.ts";
import { findCommand, type RunCommand } from "../commands/execute-command.ts";
import type { Caller } from "../auth/authorize.ts";
import { runEventsPath, runPath } from "./resource-paths.ts";
import { executeOrThrow, IDEMPOTENCY_HEADER, readIdempotencyKey } from "./command-endpoint.ts";
import { describeRun, readPage } from "./describe-session.ts";
import { findRun, findSession } from "./find-session.ts";
import { deriveSessionId } from "./derive-session-id.ts";
import { isWebUrl, readRunInput } from "./read-run-input.ts";
import { storeSentFiles } from "./store-sent-files.ts";
import { needsHistory, writeRunHistory } from "./write-run-history.ts";
import {
  assertStreamOptions,
  CURSOR_HEADERS,
  readFramingOrJson,
  type RequestedRun,
  sendRun,
  STREAM_TYPES,
} from "./stream-endpoint.ts";

const ANSWERS = {
  200: {
    description:
      "With `Accept: text/event-stream` or NDJSON, the stream of the run until it ends; otherwise the run, if it has already ended",
    shape: "StartedRun",
    mediaTypes: STREAM_TYPES,
  },
  202: { description: "The run is live or queued", shape: "StartedRun" },
} as const;

const HEADERS = { ...IDEMPOTENCY_HEADER, ...CURSOR_HEADERS };

const DESCRIPTION =
  "A missing session is created. Disconnecting does not stop the run. A request repeated with the same key returns the same run, streamed from its start or after `Last-Event-ID`.";

const startInSession = defineOperation<"StreamView", "StartRun">({
  id: "startRun",
  method: "POST",
  path: "/v1/sessions/{id}/runs",
  summary: "Send a message to an agent",
  description: DESCRIPTION,
  headers: HEADERS,
  query: "StreamView",
  body: "StartRun",
  hasInlineFiles: true,
  action: "runs.start",
  responses: ANSWERS,
  handle: (core, call) => start(core, call, call.params["id"] ?? "", readIdempotencyKey(call.request)),
});

const startAnywhere = defineOperation<"StreamView", "StartRun">({
  id: "startRunInNewSession",
  method: "POST",
  path: "/v1/runs",
  summary: "Send a message to an agent in a new session",
  description: `${DESCRIPTION} The id of the session is derived from the key.`,
  headers: HEADERS,
  query: "StreamView",
  body: "StartRun",
  hasInlineFiles: true,
  action: "runs.start",
  responses: ANSWERS,
  async handle(core, call) {
    const key = readIdempotencyKey(call.request);
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
  const { dialect, modes, strict } = call.query;
  const view = { dialect, modes, strict };
  if (framing !== "json") {
    // The session may not exist yet, so check the read permission without it.
    await core.authorize({ caller: call.caller, action: "sessions.read" });
    await assertStreamOptions(core, session, view, call.request);
  }
  const run = await startFromBody(core, call, session, key);
  if (framing !== "json") return sendRun(core, call, run, view, { framing });
  const started = await describeStarted(core, run);
  const isOver = started.status !== "queued" && started.status !== "live";
  const location = runPath(core, session, run.run);
  return Response.json(started, { status: isOver ? 200 : 202, headers: { location } });
}

/** Stores what the message brings with it, then starts its run. */
export async function startFromBody(
  core: ServerCore,
  call: Pick<ApiCall<"Empty", "StartRun">, "body" | "caller" | "signal" | "upload">,
  session: string,
  key: string,
): Promise<RequestedRun> {
  const { messages = [], message: _message, attachments: _attachments, ...about } = call.body;
  const input = readRunInput(call.body, { canFetch: core.fetchedHosts !== undefined });
  const history = { session, key, messages };
  const hasHistory = input.earlier.length > 0;
  // Only these forms depend on what an earlier request with the same key did.
  const isLookedUp = hasHistory || input.attachments.some(isWebUrl);
  const known = isLookedUp ? await findCommand(core.log, session, key) : undefined;
  const isWritten = !hasHistory || !(await needsHistory(core.log, history, known !== undefined));
  const stored = await storeSentFiles(core, call, session, input, known);
  const { attachments } = stored;
  const message = { ...about, message: input.text, ...(attachments.length === 0 ? {} : { attachments }) };
  const beforeSubmit = async (agent: string): Promise<void> => {
    if (!isWritten) await writeRunHistory(core, call.caller, history, input, { agent, stored });
  };
  return startRun(core, call.caller, { ...message, session, key }, { beforeSubmit });
}

/**
 * Starts a run for a message. The message becomes a command with the request's idempotency key as ID, so the same key
 * yields the same run, live or queued. A client that disconnects does not stop it.
 */
export async function startRun(
  core: ServerCore,
  caller: Caller,
  { session, key, ...message }: Omit<RunCommand, "type" | "id" | "session"> & Pick<RequestedRun, "session" | "key">,
  options: Pick<CommandHost, "beforeSubmit" | "notices"> = {},
): Promise<RequestedRun> {
  const { result } = await executeOrThrow(core, caller, { ...message, type: "run", id: key, session }, options);
  // Every response to an accepted message names its run.
  return { session, key, run: result?.["run_id"] as string };
}

async function describeStarted(core: ServerCore, { session, run, key }: RequestedRun): Promise<StartedRun> {
  // In this order: a run that is not found here starts after the last record of the session.
  const info = await findSession(core.log, session);
  const found = await core.log.getRun(session, run);
  return {
    session_id: session,
    run_id: run,
    command_id: key,
    status: found?.status ?? "queued",
    cursor: formatCursor(info.incarnation, found === undefined ? info.lastId : found.firstId - 1),
    events: runEventsPath(core, session, run),
  };
}

const listRuns = defineOperation<"ListPage">({
  id: "listRuns",
  method: "GET",
  path: "/v1/sessions/{id}/runs",
  summary: "List the runs of a session, newest first",
  query: "ListPage",
  action: "sessions.read",
  responses: { 200: { description: "Runs", shape: "Runs" } },
  async handle({ log }, call) {
    const session = call.params["id"] ?? "";
    await findSession(log, session);
    const { items, ...next } = await readPage(call.query, "runId", (page) => log.listRuns(session, page));
    return Response.json({ runs: items.map(describeRun), ...next });
  },
});

const getRun = defineOperation({
  id: "getRun",
  method: "GET",
  path: "/v1/sessions/{id}/runs/{run}",
  summary: "Get a run",
  action: "sessions.read",
  responses: { 200: { description: "Run", shape: "Run" } },
  async handle({ log }, { params: { id: session = "", run = "" } }) {
    return Response.json(describeRun(await findRun(log, session, run)));
  },
});

export const RUN_OPERATIONS: readonly AnyOperation[] = [startInSession, startAnywhere, listRuns, getRun];
