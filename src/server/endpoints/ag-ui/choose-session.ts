/**
 * Chooses the session of a request. A thread keeps its ID while its conversation is forked: it stands for the newest
 * version. If the messages of the client lack a run of this version, the client has edited its history, and a new
 * version starts before this run.
 */
import type { RunInfo, SessionInfo } from "../../../log/index.ts";
import type { JsonObject } from "../../../protocol/index.ts";
import type { ServerCore } from "../../api/server-core.ts";
import type { Caller } from "../../auth/authorize.ts";
import { branchBeforeRun } from "../create-fork.ts";
import { findHead } from "../find-branch.ts";
import { type AgUiRun, findAgUiRun } from "./find-run.ts";
import { nameQuestion } from "./read-thread.ts";

/** Maximum number of runs that are compared with the messages of the client. */
const MAX_COMPARED = 1000;

/** Returns the ID of the newest version of the thread. Throws `unknown_session` if the caller may not read it. */
export async function findThread(core: ServerCore, caller: Caller, threadId: string): Promise<string> {
  return (await findHead(core, caller, threadId))?.sessionId ?? threadId;
}

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

/** Returns the session in which a new run starts: the newest version of the thread, or a new one. */
export async function chooseSession(core: ServerCore, caller: Caller, request: NewRequest): Promise<string> {
  const { head, runId, messages, signal } = request;
  const { sessionId: session } = head;
  const runs = await core.log.listRuns(session, { limit: MAX_COMPARED });
  const run = findMissingRun(runs, messages);
  if (run === undefined) return session;
  const branch = { session, run: run.runId, key: `ag-ui:${session}:${runId}`, signal };
  return (await branchBeforeRun(core, caller, branch)).sessionId;
}

/** Returns the first run that the client's history does not contain. `runs` are those of the session, newest first. */
function findMissingRun(runs: readonly RunInfo[], messages: readonly JsonObject[]): RunInfo | undefined {
  const questions = messages.filter(({ role }) => role === "user").map(({ id }) => id);
  const find = (id: unknown): number => runs.findIndex((run) => nameQuestion(run) === id);
  // The message was sent before: it is edited, or answered again.
  const again = runs[find(questions.at(-1))];
  return again ?? runs[find(questions.at(-2)) - 1];
}
