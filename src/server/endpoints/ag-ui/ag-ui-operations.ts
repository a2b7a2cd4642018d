/**
 * Endpoints for clients of AG-UI (`HttpAgent`, CopilotKit) and TanStack AI. A thread is a session. One request is one
 * part of a run: from the message of the user, or the answer to an interrupt, until the run ends or waits.
 */
import { assertCursorOf, formatCursor, parseCursor } from "../../../log/cursor.ts";
import { unknownSession } from "../../../log/rules.ts";
import { isLoomError, LoomError } from "../../../protocol/index.ts";
import { type AnyOperation, type ApiCall, defineOperation } from "../../api/operation.ts";
import type { ServerCore } from "../../api/server-core.ts";
import type { AgUiInput } from "../../api/shapes.generated.ts";
import type { Caller } from "../../auth/authorize.ts";
import type { Position } from "../../streams/position.ts";
import { readPosition } from "../../streams/position.ts";
import { executeOrThrow, readIdempotencyKey, respondToCommand } from "../command-endpoint.ts";
import { applyPolicy, authorizePolicy } from "../disconnect-policy.ts";
import { findHead } from "../find-branch.ts";
import { findSession } from "../find-session.ts";
import { runPath } from "../resource-paths.ts";
import { startFromBody } from "../runs.ts";
import { CURSOR_HEADERS, readLastEventId, sendStream } from "../stream-endpoint.ts";
import { createAgUiReader } from "./ag-ui-reader.ts";
import { chooseSession, findEarlierRequest, findThread } from "./choose-session.ts";
import { type AgUiRun, findAgUiRun, findPause, MAX_ANSWERS, nameAnswer } from "./find-run.ts";
import type { AgUiThreadMessage } from "./message-fold.ts";
import { readAnswer, readQuestion } from "./read-input.ts";
import { readThread } from "./read-thread.ts";
import { decodeRunReference, encodeRunReference } from "./run-reference.ts";
import { toUiMessages } from "./ui-messages.ts";

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
  const { threadId, runId, messages, resume = [] } = body;
  const head = await findHead(core, caller, threadId);
  // A new session has no owner yet, so check the read permission without it.
  if (head === undefined) await core.authorize({ caller, action: "sessions.read" });
  await core.authorize({ caller, action: "runs.start", session: head?.sessionId ?? threadId });
  await authorizePolicy(core, caller, query.on_disconnect);
  const known = await findEarlierRequest(core, head, runId);
  const isNew = head !== undefined && known === undefined && resume.length === 0;
  const session = isNew
    ? await chooseSession(core, caller, { head, runId, messages, signal })
    : (known?.session ?? head?.sessionId ?? threadId);
  const run = await startOrAnswer(core, call, { session, known, agent });
  const isFirst = known === undefined;
  const policy = applyPolicy(core, caller, run, query.on_disconnect);
  return sendAgUiRun(core, call, run, { ...query, ...body, policy, isFirst, hidesThoughts: true });
}

interface RequestContext {
  readonly session: string;
  /** What an earlier request with the same run ID did. */
  readonly known: AgUiRun | undefined;
  readonly agent: string | undefined;
}

async function startOrAnswer(
  core: ServerCore,
  call: RunCall,
  { session, known, agent }: RequestContext,
): Promise<AgUiRun> {
  const { runId, resume = [] } = call.body;
  if (resume.length > 0) return answer(core, call.caller, { session, runId, resume });
  // The first request counts, whatever the repeated one contains.
  if (known !== undefined) return known;
  const body = { ...readQuestion(call.body), run_id: runId, ...(agent === undefined ? {} : { agent }) };
  const { run, key } = await startFromBody(core, { ...call, body }, session, runId);
  return { session, run, key, answered: [] };
}

async function answer(
  core: ServerCore,
  caller: Caller,
  { session, runId, resume }: { session: string; runId: string; resume: NonNullable<AgUiInput["resume"]> },
): Promise<AgUiRun> {
  if (resume.length > MAX_ANSWERS)
    throw new LoomError("invalid_request", `A request can have at most ${MAX_ANSWERS} answers, not ${resume.length}`, {
      path: "resume",
      in: "body",
    });
  await core.authorize({ caller, action: "runs.approve", session });
  const answers = resume.map(readAnswer);
  try {
    for (const [index, given] of answers.entries()) {
      const id = nameAnswer(runId, index);
      await executeOrThrow(core, caller, { ...given, type: "approve", id, session });
    }
  } catch (error) {
    // Another client was faster, or the approval expired: the rest of the run shows what was decided.
    const [latest] = isLoomError(error, "already_answered", "unknown_call")
      ? await core.log.listRuns(session, { limit: 1 })
      : [];
    const calls = answers.map(({ call_id }) => call_id);
    const late = latest && { session, run: latest.runId, key: runId, answered: calls };
    if (late === undefined || (await findPause(core.log, late)) === undefined) throw error;
    return late;
  }
  const found = await findAgUiRun(core.log, session, runId);
  if (found === undefined) throw new LoomError("unknown_run", `Session "${session}" has no run "${runId}"`);
  return found;
}

interface SendOptions extends Pick<AgUiInput, "runId" | "parentRunId" | "protocolVersion"> {
  readonly threadId: string;
  readonly framing?: "sse" | "ndjson";
  readonly modes?: readonly string[];
  readonly policy?: ReturnType<typeof applyPolicy>;
  /** True if the client has received nothing of the run yet. Others get a snapshot of the messages before it. */
  readonly isFirst: boolean;
  /** True for clients that keep thoughts which a snapshot does not contain. */
  readonly hidesThoughts?: boolean;
}

async function sendAgUiRun(
  core: ServerCore,
  call: Pick<ApiCall<"Empty", "Empty">, "request" | "caller" | "node" | "signal">,
  target: AgUiRun,
  options: SendOptions,
): Promise<Response> {
  const { log } = core;
  const { session, run, key, answered } = target;
  const { framing = "sse", modes, policy = {}, isFirst, threadId, runId, parentRunId, protocolVersion } = options;
  const legacy = protocolVersion === undefined;
  const pause = answered.length === 0 ? undefined : await findPause(log, target);
  const position = await readStart(core, session, call.request);
  const view = { dialect: "ag-ui", legacy, modes, run, command: key, follow: true, ...policy };
  // From the start of the record: a frame that the client has may have to be sent again.
  const after = position?.after ?? (pause === undefined ? undefined : String(pause));
  const isJoined = !isFirst && position === undefined;
  const snapshot = isJoined ? await writeSnapshot(core, target, { ...options, pause, legacy }) : undefined;
  return sendStream(
    core,
    call,
    session,
    { ...view, after },
    {
      framing,
      headers: {
        "loom-session": encodeURIComponent(session),
        "loom-run": encodeURIComponent(run),
        "content-location": runPath(core, session, run),
      },
      adapt: (reader) =>
        createAgUiReader(reader, {
          threadId,
          runId,
          parentRunId,
          answered: new Set(answered),
          readUpTo: position?.readUpTo,
          snapshot,
          isEnveloped: framing === "ndjson",
          findLastId: async () => (await findSession(log, session)).lastId,
        }),
    },
  );
}

/** Reads `Last-Event-ID`: what the client has, and the record to start with. */
async function readStart(
  { log }: ServerCore,
  session: string,
  request: Request,
): Promise<{ readonly after: string; readonly readUpTo: Position } | undefined> {
  const cursor = readLastEventId(request);
  if (cursor === undefined) return undefined;
  const parsed = parseCursor(cursor);
  const { incarnation } = await findSession(log, session);
  assertCursorOf(session, incarnation, parsed);
  return { after: formatCursor(incarnation, Math.max(0, parsed.eventId - 1)), readUpTo: readPosition(cursor) };
}

/** The messages before the run, for a client that may have a part of it: what is not in the snapshot is removed. */
async function writeSnapshot(
  core: ServerCore,
  { session, run }: AgUiRun,
  { pause, legacy, hidesThoughts = false }: { pause: number | undefined; legacy: boolean; hidesThoughts?: boolean },
): Promise<string | undefined> {
  const info = await core.log.getRun(session, run);
  const upTo = pause ?? info?.firstId;
  if (upTo === undefined) return undefined;
  const { fold } = await readThread(core, { session, upTo, legacy });
  const messages: AgUiThreadMessage[] = [...fold.messages];
  if (hidesThoughts) {
    // Clients of AG-UI keep thoughts that are not in the snapshot, and would append to them.
    const known = new Set(messages.map(({ id }) => id));
    const { fold: all } = await readThread(core, { session, maxRuns: 1, legacy });
    for (const { id, role } of all.messages)
      if (role === "reasoning" && !known.has(id)) messages.push({ id, role, content: "" });
  }
  return JSON.stringify({ type: "MESSAGES_SNAPSHOT", messages });
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
  const { log, access } = core;
  const reference = decodeRunReference(runId);
  const isAll = access.isOpen || caller.principal.scopes.has("admin");
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

async function describeThread(
  core: ServerCore,
  session: string,
  { before, limit }: { readonly before: string | undefined; readonly limit: number | undefined },
) {
  if ((await core.log.getSession(session)) === undefined) throw unknownSession(session);
  // A run has at least two messages: that of the user and the answer.
  const maxRuns = limit === undefined ? {} : { maxRuns: Math.ceil(limit / 2) };
  const { fold, cursor } = await readThread(core, { session, before, ...maxRuns });
  const run = before === undefined ? await findLiveRun(core, session) : undefined;
  const interrupts = run === undefined ? [] : fold.interrupts;
  const waiting = new Map(interrupts.map((interrupt) => [String(interrupt["toolCallId"]), interrupt]));
  const runId = run === undefined ? undefined : await nameRun(core, session, run);
  return {
    messages: toUiMessages(fold.messages, waiting),
    ...(runId === undefined ? {} : { activeRun: { runId } }),
    ...(runId === undefined || interrupts.length === 0 ? {} : { interrupts: { runId, pending: interrupts } }),
    page: cursor === undefined ? { truncated: false } : { truncated: true, cursor },
  };
}

/** The ID by which a client can join the run: its own if a client of AG-UI started it. */
async function nameRun({ log }: ServerCore, session: string, run: string): Promise<string> {
  return (await log.getCommand(session, run)) === undefined ? encodeRunReference(session, run) : run;
}

async function findLiveRun({ log }: ServerCore, session: string): Promise<string | undefined> {
  await findSession(log, session);
  const [latest] = await log.listRuns(session, { limit: 1 });
  return latest?.status === "live" ? latest.runId : undefined;
}

export const AG_UI_OPERATIONS: readonly AnyOperation[] = [runDefault, readDefault, runNamed, readNamed, stop];
