/**
 * Chooses the session of a request. A thread keeps its ID while its conversation is forked: it stands for the newest
 * version. A message that this version has is edited, or answered again: a new version starts before it. If the client
 * lacks the latest runs, or shows another answer of the latest one, another client has added them, and the message follows
 * them.
 */
import type { Log, RunInfo, SessionInfo } from "../../../log/index.ts";
import type { JsonObject } from "../../../protocol/index.ts";
import type { ServerCore } from "../../api/server-core.ts";
import type { Caller } from "../../auth/authorize.ts";
import { branchBeforeRun } from "../../endpoints/create-fork.ts";
import { readAnswers, squash } from "../../endpoints/run-records.ts";
import type { ShownRun } from "../is-abandoned.ts";
import { type AgUiRun, findAgUiRun } from "./find-run.ts";
import { nameQuestion } from "./read-thread.ts";

/** Maximum number of runs that are compared with the messages of the client. */
const MAX_COMPARED = 1000;

/** Returns what an earlier request with the same run ID did, in any version of the conversation. */
export async function findEarlierRequest(
  { log }: ServerCore,
  head: SessionInfo | undefined,
  runId: string,
): Promise<AgUiRun | undefined> {
  if (head === undefined) return undefined;
  for (const session of await log.listSessionsOfCommand(runId, head.owner))
    if ((await log.getSession(session))?.rootId === head.rootId) return findAgUiRun(log, session, runId);
  return undefined;
}

export interface NewRequest {
  readonly head: SessionInfo;
  readonly runId: string;
  readonly messages: readonly JsonObject[];
  readonly signal: AbortSignal;
}

/** The session in which a new run starts. */
export interface ChosenSession {
  readonly session: string;
  /** Whether the messages of the client are not those of the session. */
  readonly isStale: boolean;
}

/** Returns the newest version of the thread, or a new one. */
export async function chooseSession(core: ServerCore, caller: Caller, request: NewRequest): Promise<ChosenSession> {
  const { head, runId, messages, signal } = request;
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
export async function showRun(
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
