/**
 * Chooses the session that a new message of a chat belongs to. The client keeps one chat ID, so the chat is the newest
 * version of the conversation. If the client's messages contradict it, or the client edits a message or requests
 * another answer, a new version is forked; the old one stays as it is. If the client only lacks the latest messages,
 * another client has added them, and the message follows them.
 */
import { createHash } from "node:crypto";
import type { Log, RunInfo, SessionInfo } from "../../../log/index.ts";
import type { ServerCore } from "../../api/server-core.ts";
import type { Caller } from "../../auth/authorize.ts";
import { deriveRunId } from "../../commands/execute-command.ts";
import { branchBeforeRun, createFork } from "../../endpoints/create-fork.ts";
import { findBranchWithRun, findHead, type RunBranch } from "../../endpoints/find-branch.ts";
import { findNewestRun, type FoundRun } from "../../endpoints/find-session.ts";
import type { NoticeCode } from "../client-protocol.ts";
import { type KnownMessage, toMessageKey, type UserInput } from "./read-ui-request.ts";

/** Maximum number of runs that are compared with the messages of the client. */
const MAX_COMPARED = 1000;

export interface NewMessage {
  readonly chat: string;
  readonly input: UserInput;
  /** The client's messages before the new one. */
  readonly known: readonly KnownMessage[];
  /** Whether these are all messages of the client, with IDs. Transports of the AI SDK say so by the field `trigger`. */
  readonly isComplete: boolean;
  /** Whether the client may leave out messages to edit the one after them, as assistant-ui does. */
  readonly editsByOmission: boolean;
  /** The answer to replace, or the message itself if it was edited. */
  readonly replaces: string | undefined;
  readonly isRegenerated: boolean;
  /** Idempotency key of the request, if it has one. */
  readonly key: string | undefined;
  readonly signal: AbortSignal;
}

/** A run that exists already, or a session in which to start one. */
export type Branch = {
  readonly session: string;
  readonly run?: RunInfo;
  /** What the client has to know about the session. */
  readonly notice?: NoticeCode;
};

export async function chooseBranch(core: ServerCore, caller: Caller, message: NewMessage): Promise<Branch> {
  const { chat, input, known, replaces, isRegenerated } = message;
  const head = await findHead(core, caller, chat);
  if (head === undefined) return { session: chat };
  const session = head.sessionId;
  const isEdit = replaces !== undefined && replaces === input.id;
  if (isRegenerated || isEdit) {
    const replaced = await findReplaced(core, caller, head, message);
    // A repeated request, whose first answer is under way. Without a key, this is all that tells them apart.
    if (replaced !== undefined && isSameRequest(replaced.run, message)) return replaced;
    if (replaced !== undefined) return fork(core, caller, message, replaced.session, replaced.run.runId);
  }
  const last = await findMatch(core.log, session, ({ requestId }) => requestId !== undefined && requestId === input.id);
  // A repeated message is answered by its run.
  if (last !== undefined) return { session, run: last.run };
  return findDivergence(core, caller, message, session, known);
}

/** Forks where the client's messages contradict the session. */
async function findDivergence(
  core: ServerCore,
  caller: Caller,
  message: NewMessage,
  session: string,
  known: readonly KnownMessage[],
): Promise<Branch> {
  const lastAnswer = known.findLast(({ isAnswer }) => isAnswer)?.id;
  const common = await findMatch(core.log, session, createKnowsRun(known));
  const isOther = lastAnswer !== undefined && (common === undefined || !isKnownThrough(known, common.run, lastAnswer));
  const branch = isOther ? await findBranchWithRun(core, caller, message.chat, lastAnswer) : undefined;
  if (branch === undefined || lastAnswer === undefined) {
    // A client that sends only its new message says nothing about the others.
    if (common === undefined && !message.isComplete) return { session };
    const next = common === undefined ? await findFirstSent(core.log, session) : common.next;
    if (next === undefined) return { session };
    const isContradicted = common === undefined && known.length > 0;
    if (!isContradicted && !message.editsByOmission) return { session, notice: "missed_messages" };
    return { ...(await fork(core, caller, message, session, next.runId)), notice: "new_version" };
  }
  const from = branch.session;
  const replaced = (await findMatch(core.log, from, ({ runId }) => runId === lastAnswer))?.next?.runId;
  if (replaced !== undefined) return { ...(await fork(core, caller, message, from, replaced)), notice: "new_version" };
  if (from === session) return { session };
  // The client shows an older version, which becomes the newest by a copy.
  const key = deriveKey("copy", from, message);
  const { fork: copy } = await createFork(core, caller, {
    from,
    options: {},
    key,
    isKeyed: true,
    isVersion: true,
    signal: message.signal,
  });
  return { session: copy.sessionId, notice: "new_version" };
}

async function fork(
  core: ServerCore,
  caller: Caller,
  message: NewMessage,
  session: string,
  run: string,
): Promise<Branch> {
  const key = deriveKey("fork", run, message);
  const branch = await branchBeforeRun(core, caller, { session, run, key, signal: message.signal });
  return { session: branch.sessionId };
}

/** The same request gives the same key, and another content another one. */
function deriveKey(kind: string, at: string, { input, replaces, isRegenerated, key }: NewMessage): string {
  const about = [kind, at, key, isRegenerated, isRegenerated ? undefined : replaces, input];
  return `ai-sdk:${createHash("sha256").update(JSON.stringify(about)).digest("base64url")}`;
}

/** Returns the run that answered the message, in the version that the client means. */
async function findReplaced(
  core: ServerCore,
  caller: Caller,
  { sessionId: session, owner }: SessionInfo,
  { chat, input: { id }, replaces, isRegenerated }: NewMessage,
): Promise<RunBranch | undefined> {
  const { log } = core;
  const named =
    isRegenerated && replaces !== undefined ? await findBranchWithRun(core, caller, chat, replaces) : undefined;
  if (named !== undefined || id === undefined) return named;
  const answered = await findMatch(log, session, ({ requestId }) => requestId === id);
  if (answered !== undefined) return { session, run: answered.run };
  // The client shows an older version, and some clients do not name the answer.
  const key = toMessageKey(id);
  for (const started of await log.listSessionsOfCommand(key, owner)) {
    const found = await findBranchWithRun(core, caller, chat, deriveRunId(started, key));
    if (found !== undefined) return found;
  }
  return undefined;
}

/** Returns the oldest run for a message of such a client. Runs before it may be there to prepare the chat. */
async function findFirstSent(log: Log, session: string): Promise<RunInfo | undefined> {
  let first: RunInfo | undefined;
  await findMatch(log, session, (run) => {
    if (run.requestId !== undefined) first = run;
    return false;
  });
  return first;
}

function isSameRequest({ status, runId }: RunInfo, { key, replaces, isRegenerated }: NewMessage): boolean {
  return status === "live" && key === undefined && isRegenerated && runId !== replaces;
}

/** Returns whether the client has a run: its answer, or its question without any answer. */
function createKnowsRun(known: readonly KnownMessage[]): (run: RunInfo) => boolean {
  const answers = new Set<string>();
  const questions = new Set<string>();
  for (const [index, { id, isAnswer }] of known.entries())
    if (isAnswer) answers.add(id);
    else if (known[index + 1]?.isAnswer !== true) questions.add(id);
  return ({ runId, requestId }) => answers.has(runId) || (requestId !== undefined && questions.has(requestId));
}

/** Whether the last answer of the client is this run, or comes before its question. */
function isKnownThrough(known: readonly KnownMessage[], { runId, requestId }: RunInfo, lastAnswer: string): boolean {
  if (runId === lastAnswer) return true;
  const question = known.findLastIndex(({ id, isAnswer }) => !isAnswer && id === requestId);
  return question > known.findLastIndex(({ id }) => id === lastAnswer);
}

function findMatch(log: Log, session: string, matches: (run: RunInfo) => boolean): Promise<FoundRun | undefined> {
  return findNewestRun(log, session, matches, MAX_COMPARED);
}
