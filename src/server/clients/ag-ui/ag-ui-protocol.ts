/**
 * Answers a request of a client of AG-UI: starts a run for its last message, or passes its answers to the run that waits.
 * The run ID of the client is the ID of the command, so a repeated request is the same slice of a run. A thread keeps its ID
 * while its conversation is forked: it stands for the newest version.
 */
import type { Log, RunInfo, SessionInfo } from "../../../log/index.ts";
import { unknownSession } from "../../../log/rules.ts";
import { dropUndefined } from "../../../protocol/drop-undefined.ts";
import { type JsonObject, LoomError } from "../../../protocol/index.ts";
import type { ApiCall } from "../../api/operation.ts";
import type { ServerCore } from "../../api/server-core.ts";
import type { AgUiInput } from "../../api/shapes.generated.ts";
import type { Caller } from "../../auth/authorize.ts";
import { branchBeforeRun } from "../../endpoints/create-fork.ts";
import { findHead } from "../../endpoints/find-branch.ts";
import { refuse } from "../../endpoints/read-run-input.ts";
import { readAnswers, squash } from "../../endpoints/run-records.ts";
import { readWaits } from "../../endpoints/waiting-calls.ts";
import {
  authorizeStart,
  type CallAnswer,
  type ClientProtocol,
  type NoticeCode,
  sendAnswers,
  startMessageRun,
} from "../client-protocol.ts";
import { isAbandoned, type ShownRun } from "../is-abandoned.ts";
import { type AgUiRun, findAgUiRun, findPause, MAX_ANSWERS, nameAnswer } from "./find-run.ts";
import { readApproval, readQuestion, readResult, readResults } from "./read-input.ts";
import { nameQuestion } from "./read-thread.ts";
import { sendAgUiRun } from "./send-ag-ui-run.ts";

/** Maximum number of runs that are compared with the messages of the client. */
const MAX_COMPARED = 1000;

type RunCall = ApiCall<"AgUiRun", "AgUiInput">;

/** The slice of a run that the response to a request sends. */
interface RequestedSlice extends AgUiRun {
  /** True if the client has received nothing of the run yet. */
  readonly isFirst: boolean;
  readonly notice?: NoticeCode | undefined;
}

export const AG_UI: ClientProtocol<RunCall, AgUiInput, RequestedSlice> = {
  // What counts as an answer depends on what the run waits for, and a repeated request may contain anything.
  readInput: (_core, { body }) => body,
  async startOrAnswer(core, call, input) {
    const { caller } = call;
    const { threadId, runId, resume = [] } = input;
    const isAnswer = resume.length > 0;
    // Before the thread is read: a thread of another owner would be refused as unknown.
    if (!isAnswer) await authorizeStart(core, caller, threadId);
    const head = await findHead(core, caller, threadId);
    if (head === undefined) {
      if (isAnswer) throw unknownSession(threadId);
      return startRun(core, call, { session: threadId, isStale: false });
    }
    await core.authorize({ caller, action: "runs.start", session: head.sessionId });
    const known = await findEarlierRequest(core.log, head, runId);
    const session = known?.session ?? head.sessionId;
    const answers = await listAnswers(core.log, session, input);
    if (answers.length > 0)
      return { ...(await answerRun(core, caller, { session, runId, answers })), isFirst: known === undefined };
    // The first request with a run ID counts, whatever a repeated one contains.
    if (known !== undefined) return { ...known, isFirst: false };
    return startRun(core, call, await chooseSession(core, call, head));
  },
  sendSlice(core, call, slice, leave) {
    const { isFirst, notice } = slice;
    // A body may have fields of any name.
    const { threadId, runId, parentRunId, protocolVersion, messages } = call.body;
    const sent = dropUndefined({ threadId, runId, parentRunId, protocolVersion, messages });
    const isTanStack = call.request.headers.has("x-run-id");
    return sendAgUiRun(core, call, slice, { ...call.query, ...sent, ...leave, isFirst, notice, isTanStack });
  },
};

/** Returns what an earlier request with the same run ID did, in any version of the conversation. */
async function findEarlierRequest(log: Log, head: SessionInfo, runId: string): Promise<AgUiRun | undefined> {
  for (const session of await log.listSessionsOfCommand(runId, head.owner))
    if ((await log.getSession(session))?.rootId === head.rootId) return findAgUiRun(log, session, runId);
  return undefined;
}

/** The session in which a new run starts. */
interface ChosenSession {
  readonly session: string;
  /** Whether the messages of the client are not those of the session. */
  readonly isStale: boolean;
}

/**
 * Returns the newest version of the thread, or a new one. A message that the newest version has is edited, or answered again:
 * a new version starts before it. If the client lacks the latest runs, or shows another answer of the latest one, another
 * client has added them, and the message follows them.
 */
async function chooseSession(core: ServerCore, call: RunCall, head: SessionInfo): Promise<ChosenSession> {
  const { caller, signal } = call;
  const { runId, messages } = call.body;
  const { sessionId: session } = head;
  const runs = await core.log.listRuns(session, { limit: MAX_COMPARED });
  const questions = messages.filter(({ role }) => role === "user").map(({ id }) => id);
  const again = runs.find((run) => nameQuestion(run) === questions.at(-1));
  const newest = runs[0];
  if (again === undefined) {
    const isShown = newest === undefined || questions.includes(nameQuestion(newest));
    const isStale = !isShown || (newest !== undefined && (await showRun(core.log, head, newest, messages)).isOther);
    return { session, isStale };
  }
  const branch = { session, run: again.runId, key: `ag-ui:${session}:${runId}`, signal };
  return { session: (await branchBeforeRun(core, caller, branch)).sessionId, isStale: false };
}

/**
 * What the messages of the client have of a run. The ID of an answer names the record that it starts with. That of another
 * version may start with a record of the same number, so the texts are compared: `isOther` is true if they differ.
 */
async function showRun(
  log: Log,
  info: SessionInfo,
  run: RunInfo,
  messages: readonly JsonObject[],
): Promise<ShownRun & { readonly isOther: boolean }> {
  const isOfRun = ({ id }: JsonObject): boolean =>
    Number(/^message-(\d+)$/.exec(typeof id === "string" ? id : "")?.[1]) >= run.firstId;
  const answers = messages.filter((message) => message["role"] === "assistant" && isOfRun(message));
  const text = squash(answers.map(({ content }) => (typeof content === "string" ? content : "")).join(""));
  const said = text === "" ? [] : await readAnswers(log, info, run);
  const hasText = said.some((each) => each.startsWith(text));
  const isKnown = answers.length > 0 || messages.some(({ id }) => id === nameQuestion(run));
  return { isKnown, hasText, isOther: said.length > 0 && !hasText };
}

async function startRun(core: ServerCore, call: RunCall, chosen: ChosenSession): Promise<RequestedSlice> {
  const { runId, messages } = call.body;
  const { session, isStale } = chosen;
  const { agent } = call.params;
  const isLeft = await isAbandoned(core, session, (run, info) => showRun(core.log, info, run, messages));
  const body = {
    ...readQuestion(call.body),
    run_id: runId,
    ...(agent === undefined ? {} : { agent }),
    ...(isLeft ? { when_busy: "interrupt" as const } : {}),
  };
  const notice = isStale ? "missed_messages" : undefined;
  return {
    ...(await startMessageRun(core, call, { session, key: runId, body, notice })),
    answered: [],
    isFirst: !isStale,
  };
}

/** Returns the answers in a request. An answer to an unknown interrupt is an approval. */
async function listAnswers(log: Log, session: string, input: AgUiInput): Promise<readonly CallAnswer[]> {
  const { resume = [] } = input;
  const results = readResults(input);
  if (resume.length === 0 && results.size === 0) return [];
  const [latest] = await log.listRuns(session, { limit: 1 });
  const asked = latest === undefined ? [] : (await readWaits(log, session, latest)).asked;
  // A call can wait for approval first, and for its result later.
  const kinds = new Map(asked.map(({ call, kind }) => [call.call_id, kind]));
  const given = resume.map((answer): CallAnswer =>
    kinds.get(answer.interruptId) === "result"
      ? { type: "tool_result", call_id: answer.interruptId, ...readResult(answer) }
      : { type: "approve", ...readApproval(answer) },
  );
  const answered = new Set(given.map(({ call_id }) => call_id));
  for (const [call_id, result] of results)
    if (kinds.get(call_id) === "result" && !answered.has(call_id))
      given.push({ type: "tool_result", call_id, ...result });
  if (given.length <= MAX_ANSWERS) return given;
  throw refuse(`A request can have at most ${MAX_ANSWERS} answers, not ${given.length}`, "resume");
}

interface AgUiAnswer {
  readonly session: string;
  readonly runId: string;
  readonly answers: readonly CallAnswer[];
}

/** Sends the answers, and returns the run that they continue. */
async function answerRun(core: ServerCore, caller: Caller, { session, runId, answers }: AgUiAnswer): Promise<AgUiRun> {
  const { log } = core;
  const given = answers.map((answer, index) => ({ ...answer, id: nameAnswer(runId, index) }));
  const { taken, lateness } = await sendAnswers(core, caller, session, given);
  const found = taken.length === 0 ? undefined : await findAgUiRun(log, session, runId);
  if (found !== undefined) return found;
  // The rest of the run shows what was decided.
  const [latest] = await log.listRuns(session, { limit: 1 });
  const answered = answers.map(
    ({ type, call_id: call }) => ({ kind: type === "approve" ? "approval" : "result", call }) as const,
  );
  const late = { session, run: latest?.runId ?? "", key: runId, answered };
  if (latest !== undefined && (await findPause(log, late)) !== undefined) return late;
  throw lateness ?? new LoomError("unknown_run", `Session "${session}" has no run "${runId}"`);
}
