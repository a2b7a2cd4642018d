/**
 * Finds the session of a conversation for clients that send the whole conversation with every message, and name no session.
 *
 * The message of a run is a command, and its ID is a digest, by which the log finds the sessions of an owner. In a new
 * session it is the digest of the conversation with the message. In a session that goes on it is that of the conversation
 * before the message, so that the log accepts only one message at this point, also from several processes.
 *
 * Invariant: a session goes on only if its last run has the client's last message, after the same conversation, and the
 * answer that the client has. Otherwise the message goes to a fork before the run that the client lacks, or to a new
 * session.
 */
import { hash } from "node:crypto";
import type { Log, RunInfo, SessionInfo } from "../../../log/index.ts";
import type { JsonObject } from "../../../protocol/index.ts";
import { toJsonObject } from "../../../protocol/json.ts";
import type { ServerCore } from "../../api/server-core.ts";
import { deriveRunId } from "../../commands/derive-run-id.ts";
import { findCommand } from "../../commands/execute-command.ts";
import { branchBeforeRun } from "../create-fork.ts";
import { findNextRun } from "../find-session.ts";
import { readAnswers, squash } from "../read-answers.ts";
import type { OpenaiCall } from "./openai-run.ts";
import type { OpenaiInput, OpenaiMessage } from "./read-openai-input.ts";

/** Maximum number of runs whose answers are compared with that of the client. */
const MAX_COMPARED = 20;

/** Digests of a conversation and its new message. */
export interface ConversationDigests {
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

/** A message of the user ends the input, or results of calls that no run waits for: then nothing is looked up. */
export function digestConversation({ messages, endsWithAnswers }: OpenaiInput): ConversationDigests {
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
export async function findConversation(
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

/** What the run of a conversation stores about its request. */
export function noteKey(key: string): JsonObject {
  return { key };
}

function readKey(body: JsonObject | undefined): unknown {
  return toJsonObject(toJsonObject(body?.["context"])["openai"])["key"];
}
