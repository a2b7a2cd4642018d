/**
 * Endpoints for clients of AG-UI (`HttpAgent`) and TanStack AI. A thread is a session. One request is one
 * part of a run: from the message of the user, or the answer to an interrupt, until the run ends or waits.
 */
import { unknownSession } from "../../../log/rules.ts";
import { LoomError } from "../../../protocol/index.ts";
import { type AnyOperation, type ApiCall, defineOperation } from "../../api/operation.ts";
import type { ServerCore } from "../../api/server-core.ts";
import type { Caller } from "../../auth/authorize.ts";
import { findNotice, type NoticeCode } from "../chat-notice.ts";
import { readIdempotencyKey, respondToCommand } from "../command-endpoint.ts";
import { applyPolicy, authorizePolicy } from "../disconnect-policy.ts";
import { findHead } from "../find-branch.ts";
import { findSession } from "../find-session.ts";
import { isAbandoned } from "../is-abandoned.ts";
import { startFromBody } from "../runs.ts";
import { CURSOR_HEADERS } from "../stream-endpoint.ts";
import { listAnswers, sendAnswers } from "./answer-run.ts";
import { chooseSession, findEarlierRequest, findThread, showRun } from "./choose-session.ts";
import { describeThread, findLiveRun } from "./describe-thread.ts";
import { type AgUiRun, findAgUiRun } from "./find-run.ts";
import { readQuestion } from "./read-input.ts";
import { decodeRunReference } from "./run-reference.ts";
import { sendAgUiRun } from "./send-ag-ui-run.ts";

const STREAM = {
  description: "Events of AG-UI, until the run ends or waits for an answer",
  mediaTypes: ["text/event-stream", "application/x-ndjson"],
} as const;
const RUN_DESCRIPTION =
  "The last message starts a run; with `resume` it answers the interrupts of the run that waits. A repeated `runId` is the same run: its rest after `Last-Event-ID`, otherwise `RUN_STARTED`, `MESSAGES_SNAPSHOT` and the run from its start. Disconnecting does not stop the run, see `on_disconnect`.";
const READ_DESCRIPTION =
  "With `threadId`: the messages of the thread, its live run and what it waits for. With `runId`: the stream of the run.";

type RunCall = ApiCall<"AgUiRun", "AgUiInput">;

const runDefault = defineOperation<"AgUiRun", "AgUiInput">({
  id: "runAgUi",
  method: "POST",
  path: "/ag-ui",
  tag: "ag-ui",
  summary: "Run the default agent for a client of AG-UI",
  description: RUN_DESCRIPTION,
  headers: CURSOR_HEADERS,
  query: "AgUiRun",
  body: "AgUiInput",
  hasInlineFiles: true,
  action: "runs.start",
  responses: { 200: STREAM },
  handle: (core, call) => handleRun(core, call, undefined),
});

const runNamed = defineOperation<"AgUiRun", "AgUiInput">({
  id: "runAgUiAgent",
  method: "POST",
  path: "/ag-ui/{agent}",
  tag: "ag-ui",
  summary: "Run an agent for a client of AG-UI",
  description: RUN_DESCRIPTION,
  params: { agent: "Name of the agent" },
  headers: CURSOR_HEADERS,
  query: "AgUiRun",
  body: "AgUiInput",
  hasInlineFiles: true,
  action: "runs.start",
  responses: { 200: STREAM },
  handle: (core, call) => handleRun(core, call, call.params["agent"]),
});

const READ = {
  tag: "ag-ui",
  description: READ_DESCRIPTION,
  headers: CURSOR_HEADERS,
  query: "AgUiRead",
  action: "sessions.read",
  responses: { 200: { ...STREAM, description: "The thread, or the stream of the run", shape: "AgUiThread" } },
  handle: readThreadOrRun,
} as const;

const readDefault = defineOperation<"AgUiRead">({
  ...READ,
  id: "readAgUi",
  method: "GET",
  path: "/ag-ui",
  summary: "Load a thread, or join a run, with TanStack AI",
});

const readNamed = defineOperation<"AgUiRead">({
  ...READ,
  id: "readAgUiAgent",
  method: "GET",
  path: "/ag-ui/{agent}",
  summary: "Load a thread of an agent, or join a run, with TanStack AI",
  params: { agent: "Name of the agent; any name gives the same thread" },
});

const stop = defineOperation<"Empty", "AgUiStop">({
  id: "stopAgUi",
  method: "POST",
  path: "/ag-ui/threads/{id}/stop",
  tag: "ag-ui",
  summary: "Stop a run of a thread",
  description: "The stop button of AG-UI clients only closes the connection, which does not stop the run.",
  params: { id: "Id of the thread" },
  body: "AgUiStop",
  isBodyRequired: false,
  action: "runs.control",
  responses: {
    200: { description: "Stopped", shape: "CommandResult" },
    202: { description: "Pending", shape: "CommandResult" },
  },
  async handle(core, { request, caller, params: { id = "" }, body: { runId } }) {
    const session = await findThread(core, caller, id);
    if (session !== id) await core.authorize({ caller, action: "runs.control", session });
    const named = runId === undefined ? undefined : await findAgUiRun(core.log, session, runId);
    const run = runId === undefined ? await findLiveRun(core, session) : (named?.run ?? runId);
    if (run === undefined) throw new LoomError("unknown_run", `Thread "${session}" has no live run`);
    return respondToCommand(core, caller, { type: "cancel", id: readIdempotencyKey(request), session, run_id: run });
  },
});

async function handleRun(core: ServerCore, call: RunCall, agent: string | undefined): Promise<Response> {
  const { caller, body, query, signal } = call;
  const { threadId, runId, messages } = body;
  const isAnswer = (body.resume ?? []).length > 0;
  // Before the thread is read: a thread of another owner would be refused as unknown.
  if (!isAnswer) await core.authorize({ caller, action: "runs.start", session: threadId });
  const head = await findHead(core, caller, threadId);
  // A new session has no owner yet, so check the read permission without it.
  if (head === undefined) await core.authorize({ caller, action: "sessions.read" });
  if (head !== undefined) await core.authorize({ caller, action: "runs.start", session: head.sessionId });
  await authorizePolicy(core, caller, query.on_disconnect);
  const known = await findEarlierRequest(core, head, runId);
  const current = known?.session ?? head?.sessionId ?? threadId;
  if (head === undefined && isAnswer) throw unknownSession(threadId);
  const answers = head === undefined ? [] : await listAnswers(core.log, current, body);
  const isTanStack = call.request.headers.has("x-run-id");
  const send = async (
    run: AgUiRun,
    { isFirst = known === undefined, notice }: StartedRunNews = {},
  ): Promise<Response> => {
    const policy = applyPolicy(core, caller, run, query.on_disconnect);
    return sendAgUiRun(core, call, run, { ...query, ...body, policy, isFirst, notice, isTanStack });
  };
  if (answers.length > 0) return send(await sendAnswers(core, caller, { session: current, runId, answers }));
  // The first request with a run ID counts, whatever a repeated one contains.
  if (known !== undefined) return send(known);
  const { session, isStale } =
    head === undefined
      ? { session: threadId, isStale: false }
      : await chooseSession(core, caller, { head, runId, messages, signal });
  const run = await startRun(core, call, session, agent);
  return send(run, { isFirst: !isStale, notice: await findNotice(core, run, isStale ? "missed_messages" : undefined) });
}

/** What the client has to know about a run that it started. */
interface StartedRunNews {
  readonly isFirst?: boolean;
  readonly notice?: NoticeCode | undefined;
}

async function startRun(core: ServerCore, call: RunCall, session: string, agent: string | undefined): Promise<AgUiRun> {
  const { runId, messages } = call.body;
  const isLeft = await isAbandoned(core, session, (run, info) => showRun(core.log, info, run, messages));
  const body = {
    ...readQuestion(call.body),
    run_id: runId,
    ...(agent === undefined ? {} : { agent }),
    ...(isLeft ? { when_busy: "interrupt" as const } : {}),
  };
  const { run, key } = await startFromBody(core, { ...call, body }, session, runId);
  return { session, run, key, answered: [] };
}

async function readThreadOrRun(core: ServerCore, call: ApiCall<"AgUiRead", "Empty">): Promise<Response> {
  const { caller, query } = call;
  const { threadId, runId, before, limit } = query;
  if (runId !== undefined) {
    const target = await findRunAnywhere(core, caller, runId);
    // Clients know the conversation by the ID of its first version.
    const { rootId } = await findSession(core.log, target.session);
    return sendAgUiRun(core, call, target, {
      ...query,
      runId,
      threadId: threadId ?? rootId,
      isFirst: false,
      isTanStack: true,
      protocolVersion: "1.0",
    });
  }
  if (threadId === undefined)
    throw new LoomError("invalid_request", "The request needs `threadId` or `runId`", {
      path: "threadId",
      in: "query",
    });
  await core.authorize({ caller, action: "sessions.read", session: threadId });
  const session = await findThread(core, caller, threadId);
  return Response.json(await describeThread(core, session, { before, limit }));
}

/** A run comes without its thread. Looks at the sessions of the caller only. */
async function findRunAnywhere(core: ServerCore, caller: Caller, runId: string): Promise<AgUiRun> {
  const { log } = core;
  const reference = decodeRunReference(runId);
  const isAll = caller.principal.kind === "local" || caller.principal.scopes.has("admin");
  const sessions =
    reference === undefined
      ? await log.listSessionsOfCommand(runId, isAll ? undefined : caller.principal.owner)
      : [reference.session];
  for (const session of sessions) {
    const found =
      reference === undefined ? await findAgUiRun(log, session, runId) : { ...reference, key: "", answered: [] };
    if (found === undefined) continue;
    await core.authorize({ caller, action: "sessions.read", session });
    return found;
  }
  throw new LoomError("unknown_run", `There is no run "${runId}"`, { run_id: runId });
}

export const AG_UI_OPERATIONS: readonly AnyOperation[] = [runDefault, readDefault, runNamed, readNamed, stop];
