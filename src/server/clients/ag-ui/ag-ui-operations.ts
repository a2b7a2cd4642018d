/**
 * Endpoints for clients of AG-UI (`HttpAgent`) and TanStack AI. A thread is a session. One request is one
 * slice of a run: from the message of the user, or the answer to an interrupt, until the run ends or waits.
 */
import { LoomError } from "../../../protocol/index.ts";
import { type AnyOperation, type ApiCall, defineOperation } from "../../api/operation.ts";
import type { ServerCore } from "../../api/server-core.ts";
import type { Caller } from "../../auth/authorize.ts";
import { findLiveRun } from "../../commands/execute-command.ts";
import { readIdempotencyKey, respondToCommand } from "../../endpoints/command-endpoint.ts";
import { openHead } from "../../endpoints/find-branch.ts";
import { findSession } from "../../endpoints/find-session.ts";
import { CURSOR_HEADERS } from "../../endpoints/stream-endpoint.ts";
import { answerClient } from "../client-protocol.ts";
import { AG_UI } from "./ag-ui-protocol.ts";
import { describeThread } from "./describe-thread.ts";
import { type AgUiRun, decodeRunReference, findAgUiRun } from "./find-run.ts";
import { sendAgUiRun } from "./send-ag-ui-run.ts";

const STREAM = {
  description: "Events of AG-UI, until the run ends or waits for an answer",
  mediaTypes: ["text/event-stream", "application/x-ndjson"],
} as const;
const RUN_DESCRIPTION =
  "The last message starts a run; with `resume` it answers the interrupts of the run that waits. A repeated `runId` is the same run: its rest after `Last-Event-ID`, otherwise `RUN_STARTED`, `MESSAGES_SNAPSHOT` and the run from its start. Disconnecting does not stop the run, see `on_disconnect`.";
const READ_DESCRIPTION =
  "With `threadId`: the messages of the thread, its live run and what it waits for. With `runId`: the stream of the run.";

const RUN = {
  method: "POST",
  description: RUN_DESCRIPTION,
  headers: CURSOR_HEADERS,
  query: "AgUiRun",
  body: "AgUiInput",
  hasInlineFiles: true,
  action: "runs.start",
  responses: { 200: STREAM },
  handle: (core: ServerCore, call: ApiCall<"AgUiRun", "AgUiInput">) => answerClient(core, call, AG_UI),
} as const;

const runDefault = defineOperation<"AgUiRun", "AgUiInput">({
  ...RUN,
  id: "runAgUi",
  path: "/ag-ui",
  summary: "Run the default agent for a client of AG-UI",
});

const runNamed = defineOperation<"AgUiRun", "AgUiInput">({
  ...RUN,
  id: "runAgUiAgent",
  path: "/ag-ui/{agent}",
  summary: "Run an agent for a client of AG-UI",
  params: { agent: "Name of the agent" },
});

const READ = {
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
    const { sessionId: session } = await openHead(core, caller, id, "runs.control");
    const named = runId === undefined ? undefined : await findAgUiRun(core.log, session, runId);
    const run = runId === undefined ? (await findLiveRun(core.log, session))?.runId : (named?.run ?? runId);
    if (run === undefined) throw new LoomError("unknown_run", `Thread "${session}" has no live run`);
    return respondToCommand(core, caller, { type: "cancel", id: readIdempotencyKey(request), session, run_id: run });
  },
});

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
  const { sessionId } = await openHead(core, caller, threadId, "sessions.read");
  return Response.json(await describeThread(core, sessionId, { before, limit }));
}

/** A run comes without its thread. Looks at the sessions of the caller only. */
async function findRunAnywhere(core: ServerCore, caller: Caller, runId: string): Promise<AgUiRun> {
  const { log } = core;
  const reference = decodeRunReference(runId);
  if (reference !== undefined) {
    await core.authorize({ caller, action: "sessions.read", session: reference.session });
    return { ...reference, key: "", answered: [] };
  }
  const isAll = caller.principal.kind === "local" || caller.principal.scopes.has("admin");
  for (const session of await log.listSessionsOfCommand(runId, isAll ? undefined : caller.principal.owner)) {
    const found = await findAgUiRun(log, session, runId);
    if (found === undefined) continue;
    await core.authorize({ caller, action: "sessions.read", session });
    return found;
  }
  throw new LoomError("unknown_run", `There is no run "${runId}"`, { run_id: runId });
}

export const AG_UI_OPERATIONS: readonly AnyOperation[] = [runDefault, readDefault, runNamed, readNamed, stop];
