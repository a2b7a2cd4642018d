/**
 * Starts the run of a message: in the conversation that the client names, or else, as its request has the whole conversation,
 * in the session that has this conversation, or in a new one that gets it as its history.
 *
 * To find a conversation that is not named, the message of a run is a command, and its ID is a digest, by which the log finds the sessions of an owner. In a new
 * session it is the digest of the conversation with the message. In a session that goes on it is that of the conversation
 * before the message, so that the log accepts only one message at this point, also from several processes.
 *
 * Invariant: a session goes on only if its last run has the client's last message, after the same conversation, and the
 * answer that the client has. Otherwise the message goes to a fork before the run that the client lacks, or to a new
 * session.
 */
import { hash } from "node:crypto";
import type { Log, RunInfo, SessionInfo } from "../../../log/index.ts";
import { isLoomError, type JsonObject, LoomError } from "../../../protocol/index.ts";
import { toJsonObject } from "../../../protocol/json.ts";
import type { ServerCore } from "../../api/server-core.ts";
import { deriveRunId, findCommand } from "../../commands/execute-command.ts";
import { branchBeforeRun } from "../../endpoints/create-fork.ts";
import { deriveSessionId } from "../../endpoints/derive-session-id.ts";
import { findHead } from "../../endpoints/find-branch.ts";
import { findNextRun } from "../../endpoints/find-session.ts";
import { readAnswers, readRunStart, squash } from "../../endpoints/run-records.ts";
import { authorizeStart } from "../client-protocol.ts";
import { type OpenaiCall, type OpenaiSlice, type OpenaiRunRequest, startOpenaiRun } from "./openai-run.ts";
import type { OpenaiInput, OpenaiMessage } from "./read-openai-input.ts";

/** How often the session is looked up again because another message took its place. */
const MAX_ATTEMPTS = 3;
/** Maximum number of runs whose answers are compared with that of the client. */
const MAX_COMPARED = 20;
/** Maximum number of runs that are compared with a conversation. A longer session is continued at its end. */
const MAX_RUNS = 1000;

/** Digests of a conversation and its new message. */
interface ConversationDigests {
  /** Of the conversation with the new message. Also the `request_id` of its run. */
  readonly content: string;
  /** Of the conversation before the new message. */
  readonly position: string;
  /** The turn before the new message; undefined if the conversation begins with that. */
  readonly last: { readonly digests: Omit<ConversationDigests, "last">; readonly answer: string } | undefined;
}

interface Candidate {
  readonly info: SessionInfo;
  readonly run: RunInfo;
}

/** A conversation that the client names. Its ID stays the same when a new version of it is made. */
interface NamedConversation {
  readonly named: string;
  readonly key: string;
  /** The user's messages before the new one; undefined if the client sent only the new one. */
  readonly earlier?: readonly string[] | undefined;
}

/** Starts the run of a message in the conversation that the client names. */
export async function continueConversation(
  core: ServerCore,
  call: OpenaiCall,
  input: OpenaiInput,
  about: OpenaiRunRequest,
  conversation: NamedConversation,
): Promise<OpenaiSlice> {
  const { named, key } = conversation;
  await authorizeStart(core, call.caller, named);
  const session = await findVersion(core, call, conversation);
  if (session !== named) await authorizeStart(core, call.caller, session);
  return startOpenaiRun(core, call, input, about, { session, key });
}

/**
 * Finds the newest version of the conversation. The log is authoritative: if it has a run that the client's conversation
 * lacks, the message goes to a fork before that run. A request that is repeated with its key finds the same session.
 */
async function findVersion(
  core: ServerCore,
  { caller, signal }: OpenaiCall,
  { named, key, earlier }: NamedConversation,
): Promise<string> {
  const { log } = core;
  const session = (await findHead(core, caller, named))?.sessionId;
  if (session === undefined || earlier === undefined) return session ?? named;
  const runs = await log.listRuns(session, { limit: MAX_RUNS });
  if (runs.length === MAX_RUNS) return session;
  for (const [index, run] of runs.toReversed().entries()) {
    if (earlier[index] === ((await readRunStart(log, session, run))?.message ?? "")) continue;
    // A run that another request with this key has just started is not missing. Read last: its command comes first.
    if ((await findCommand(log, session, key)) !== undefined) break;
    return (await branchBeforeRun(core, caller, { session, run: run.runId, key, signal })).sessionId;
  }
  return session;
}

/**
 * Starts the run of a message whose request has the whole conversation and names no session. `key` is the idempotency key of
 * the request: a new session has an ID that is derived from it.
 */
export async function startConversation(
  core: ServerCore,
  call: OpenaiCall,
  input: OpenaiInput,
  given: OpenaiRunRequest,
  key: string,
): Promise<OpenaiSlice> {
  const digests = digestConversation(input);
  const { content, position } = digests;
  // With the key, the same message of another request is another command.
  const openai = { ...toJsonObject(given.context?.["openai"]), key };
  const about = { ...given, request_id: content, context: { ...given.context, openai } };
  for (let attempt = 0; attempt < MAX_ATTEMPTS; attempt++) {
    try {
      const session = await findConversation(core, call, digests, { key, agent: given.model });
      if (session === undefined) break;
      await authorizeStart(core, call.caller, session);
      const where = { session, key: position, hasHistory: true };
      return await startOpenaiRun(core, call, input, { ...about, when_busy: "reject" }, where);
    } catch (error) {
      // The caller may not fork.
      if (isLoomError(error, "forbidden")) break;
      if (!isLoomError(error, "command_conflict", "run_live", "unknown_session", "unknown_run")) throw error;
    }
  }
  const session = deriveSessionId(key, call.caller.principal.owner);
  await authorizeStart(core, call.caller, session);
  await assertUnused(core.log, session, content);
  return startOpenaiRun(core, call, input, about, { session, key: content, hasHistory: false });
}

/** Throws `command_conflict` if the session of the key has the message of another request. */
async function assertUnused(log: Log, session: string, content: string): Promise<void> {
  if ((await log.getSession(session)) === undefined) return;
  const [run] = await log.listRuns(session, { limit: 1 });
  const pending = await log.listPending(session);
  const used = [run?.requestId, ...pending.map(({ body }) => body["request_id"])];
  if (used.some((id) => id !== undefined && id !== content))
    throw new LoomError("command_conflict", "The idempotency key was used for another message");
}

/** A message of the user ends the input, or results of calls that no run waits for: then nothing is looked up. */
function digestConversation({ messages, endsWithAnswers }: OpenaiInput): ConversationDigests {
  const earlier = messages.slice(0, -1);
  const at = endsWithAnswers ? -1 : earlier.findLastIndex(({ role }) => role === "user");
  const answer = earlier.slice(at + 1).flatMap(listTexts);
  return {
    ...digest(messages),
    last: at === -1 ? undefined : { digests: digest(earlier.slice(0, at + 1)), answer: squash(answer.join("")) },
  };
}

/** Digests of the last message and what comes before it. */
function digest(messages: readonly OpenaiMessage[]): Omit<ConversationDigests, "last"> {
  const [position, content] = [messages.slice(0, -1), messages].map(
    (part, index) => `chat:${hash("sha256", JSON.stringify([index, part.map(normalize)]), "base64url")}`,
  ) as [string, string];
  return { position, content };
}

/** Clients repeat a message in other words than they received it: with other IDs, fields, and space around the text. */
function normalize(message: OpenaiMessage): readonly unknown[] {
  const { role } = message;
  const texts = listTexts(message).join("\n");
  const others = listParts(message).flatMap(({ type, image, data, filename, toolName, input, output }) =>
    type === "text" ? [] : [[type, image, data, filename, toolName, input, output]],
  );
  return [role, role === "user" ? texts : squash(texts), ...others];
}

const listParts = ({ content }: OpenaiMessage): readonly JsonObject[] =>
  typeof content === "string" ? [{ type: "text", text: content }] : content;

const listTexts = (message: OpenaiMessage): readonly string[] =>
  listParts(message).flatMap(({ type, text }) => (type === "text" && typeof text === "string" ? [text] : []));

/**
 * Returns the session in which the conversation goes on: one that ends with it, or a fork. Undefined if no session has it,
 * and if several have gone on from it: it could be a version of any of them. A request that is repeated with its key finds
 * the same session.
 */
async function findConversation(
  core: ServerCore,
  { caller, signal }: OpenaiCall,
  { position, last }: ConversationDigests,
  { key, agent }: { readonly key: string; readonly agent: string },
): Promise<string | undefined> {
  if (last === undefined) return undefined;
  const { log } = core;
  const origins: { readonly info: SessionInfo; readonly next: string }[] = [];
  let compared = 0;
  for (const { info, run } of await listCandidates(log, caller.principal.owner, last.digests, agent)) {
    const { sessionId: session } = info;
    if (compared++ >= MAX_COMPARED) break;
    if (!(await hasAnswer(log, info, run, last.answer))) continue;
    const own = await findCommand(log, session, position);
    if (readKey(own?.body) === key) return session;
    const isBusy = (await log.listPending(session)).some(({ kind }) => kind === "enqueue");
    const next = await findNextRun(log, session, run.runId);
    if (next !== undefined) origins.push({ info, next });
    else if (!isBusy && own === undefined) return session;
  }
  const [origin] = origins;
  if (origin === undefined || origins.some(({ info }) => info.rootId !== origin.info.rootId)) return undefined;
  const branch = { session: origin.info.sessionId, run: origin.next, key, signal };
  return (await branchBeforeRun(core, caller, branch)).sessionId;
}

/** Sessions in which the owner sent the last message after the same conversation: those of the agent first, then the newest. */
async function listCandidates(
  log: Log,
  owner: string,
  { position, content }: Omit<ConversationDigests, "last">,
  agent: string,
): Promise<readonly Candidate[]> {
  const found = await Promise.all(
    [content, position].map(async (id) => {
      const sessions = await log.listSessionsOfCommand(id, owner);
      return Promise.all(sessions.map((session) => readCandidate(log, session, deriveRunId(session, id))));
    }),
  );
  return found
    .flat()
    .filter((candidate) => candidate !== undefined)
    .filter(({ run }) => run.requestId === content && run.status !== "live")
    .toSorted((a, b) => Number(b.run.agent === agent) - Number(a.run.agent === agent));
}

async function readCandidate(log: Log, session: string, runId: string): Promise<Candidate | undefined> {
  const info = await log.getSession(session);
  const run = info === undefined ? undefined : await log.getRun(session, runId);
  return info === undefined || run === undefined ? undefined : { info, run };
}

/** Whether the client has the answer of the run. Of an answer that was cut off it may have received less. */
async function hasAnswer(log: Log, info: SessionInfo, run: RunInfo, answer: string): Promise<boolean> {
  const said = await readAnswers(log, info, run);
  return said.some((text) => (run.status === "completed" ? text === answer : text.startsWith(answer)));
}

function readKey(body: JsonObject | undefined): unknown {
  return toJsonObject(toJsonObject(body?.["context"])["openai"])["key"];
}
