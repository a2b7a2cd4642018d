/**
 * Adds items to a conversation, and deletes items that were added. Items become runs that have ended: one for each message of
 * the user with what follows it, so that agents and pages read them like any other. The log is append-only, so a deletion
 * makes a new version of the conversation.
 */
import { hash } from "node:crypto";
import { checkInput, type EarlierTurn, type InputQuestion } from "../../../agents/agent-input.ts";
import type { RunAttachments } from "../../../agents/compose-question.ts";
import { deriveTitle } from "../../../agents/derive-title.ts";
import { writeHistory } from "../../../agents/write-history.ts";
import type { SessionInfo } from "../../../log/index.ts";
import { type Json, type JsonObject, LoomError } from "../../../protocol/index.ts";
import { toJsonObject } from "../../../protocol/json.ts";
import type { ServerCore } from "../../api/server-core.ts";
import type { Caller } from "../../auth/authorize.ts";
import { authorOf } from "../../commands/command-host.ts";
import { appendToSession } from "../../endpoints/append-to-session.ts";
import { branchBeforeRun } from "../../endpoints/create-fork.ts";
import { readRunInput, refuse } from "../../endpoints/read-run-input.ts";
import { storeSentFiles } from "../../endpoints/store-sent-files.ts";
import { prepareSession } from "../../endpoints/write-run-history.ts";
import { noteItems, readMetadata, readRunItems, type RunItems, writeMetadata } from "./conversation-items.ts";
import type { OpenaiCall } from "./openai-run.ts";
import { type OpenaiMessage, readResponseInput } from "./read-openai-input.ts";

/** Maximum number of items of one request. */
const MAX_ITEMS = 100;
/** Prefixes of IDs. */
const PREFIXES: { readonly [type: string]: string } = {
  message: "msg",
  function_call: "fc",
  function_call_output: "fco",
  reasoning: "rs",
  mcp_call: "mcp",
  mcp_approval_request: "mcpr",
  mcp_approval_response: "mcprsp",
};
/** Ends a list of messages, all of which are then earlier ones. */
const END: OpenaiMessage = { role: "user", content: "." };
const NO_TURN: EarlierTurn = { question: { text: "", attachments: [] }, parts: [] };

/** The items of one run, and what the model sees of them. */
interface AddedTurn {
  readonly items: readonly JsonObject[];
  readonly turn: EarlierTurn;
}

interface AddedItems {
  readonly session: string;
  readonly items: readonly JsonObject[];
  readonly metadata?: JsonObject | undefined;
  /** A request that is repeated with its key adds nothing. */
  readonly key: string;
}

/** Creates the session if it is missing. Returns the items with their IDs. Throws `run_live` while a run is live. */
export async function addItems(
  core: ServerCore,
  call: OpenaiCall,
  { session, items: given, metadata, key }: AddedItems,
): Promise<readonly JsonObject[]> {
  if (given.length > MAX_ITEMS) throw refuse(`A request can add at most ${MAX_ITEMS} items`, "items");
  const items = given.map((item, index) => describeItem(item, `items[${index}]`, digest(session, key, index)));
  const groups = groupByTurn(given);
  const messages = groups.map((group) => readResponseInput(group).messages);
  const input = readRunInput({ messages: [...messages.flat(), END] }, { canFetch: core.fetchedHosts !== undefined });
  const stored = await storeSentFiles(core, call, session, input, undefined);
  const turns = alignTurns(messages, input.earlier);
  let at = 0;
  const added = groups.map((group, index) => ({
    items: items.slice(at, (at += group.length)).map(dropFiles),
    turn: turns[index] ?? NO_TURN,
  }));
  const load = (question: InputQuestion): RunAttachments => stored.filesOf(question);
  await appendTurns(core, call.caller, session, { added, load, metadata, key });
  return items;
}

interface AppendOptions {
  readonly added: readonly AddedTurn[];
  readonly load: (question: InputQuestion) => RunAttachments;
  readonly metadata?: JsonObject | undefined;
  readonly key: string;
}

async function appendTurns(
  core: ServerCore,
  caller: Caller,
  session: string,
  { added, load, metadata, key }: AppendOptions,
): Promise<void> {
  const { log, runs } = core;
  const author = authorOf(core, caller);
  const agent = runs.resolveAgent(undefined);
  const turns = added.map(({ turn }) => turn);
  const title = turns.map(({ question }) => deriveTitle(question.text)).find((text) => text !== undefined);
  const createRunId = (index: number): string => `run-${digest(session, key, index)}`;
  const contextOf = (index: number): JsonObject => noteItems(added[index]?.items ?? []);
  await appendToSession(core, session, {
    prepare: () => prepareSession(core, author, session, title),
    isNeeded: async () => added.length === 0 || (await log.getRun(session, createRunId(0))) === undefined,
    async write(draft) {
      if (metadata !== undefined && Object.keys(metadata).length > 0) await draft.record(writeMetadata(metadata));
      await writeHistory(draft, turns, { agent, actor: author.actor, load, createRunId, contextOf });
    },
  });
}

/**
 * Deletes an item that a client added, if no response follows it. Throws `not_found`, and `invalid_request` for an item that
 * the conversation needs.
 */
export async function deleteItem(
  core: ServerCore,
  { caller, signal }: OpenaiCall,
  info: SessionInfo,
  { id, key }: { readonly id: string; readonly key: string },
): Promise<void> {
  const later: RunItems[] = [];
  let found: RunItems | undefined;
  let isLast = true;
  for await (const run of readRunItems(core.log, info)) {
    isLast &&= run.isAdded;
    if (isLast) later.unshift(run);
    if (!run.items.some((item) => item["id"] === id)) continue;
    found = run;
    break;
  }
  if (found === undefined) throw unknownItem(id);
  if (!isLast)
    throw refuse(
      "Only items that a client added after the last response can be deleted; delete the conversation",
      "item",
    );
  const { sessionId: session } = info;
  const branch = await branchBeforeRun(core, caller, { session, run: found.run.runId, key, signal });
  const files = new Map<InputQuestion, RunAttachments>();
  const added = later.flatMap(({ items, attachments }) => {
    const kept = items.filter((item) => item["id"] !== id);
    if (kept.length === 0) return [];
    const { messages } = readResponseInput(kept.map(dropFileParts));
    const [turn = NO_TURN] = checkInput([...messages, END] as Parameters<typeof checkInput>[0] & object).earlier;
    const question = { ...turn.question };
    if (kept.some(({ role }) => role === "user")) files.set(question, attachments);
    return [{ items: kept, turn: { ...turn, question } }];
  });
  const load = (question: InputQuestion): RunAttachments => files.get(question) ?? [];
  // It may have been written after the run.
  const metadata = await readMetadata(core.log, info);
  await appendTurns(core, caller, branch.sessionId, { added, load, metadata, key });
}

export function unknownItem(id: string): LoomError {
  return new LoomError("not_found", `The conversation has no item "${id.slice(0, 80)}"`);
}

const digest = (...parts: readonly unknown[]): string =>
  hash("sha256", JSON.stringify(parts), "base64url").slice(0, 22);

/** The item as the API lists it. Contents of messages are lists. */
function describeItem(given: JsonObject, path: string, unique: string): JsonObject {
  const { role, content, type = role === undefined ? null : "message" } = given;
  if (typeof type !== "string") throw refuse("An item needs a `type`", `${path}.type`);
  const id =
    type === "reasoning" && typeof given["id"] === "string" ? given["id"] : `${PREFIXES[type] ?? "item"}_${unique}`;
  if (type !== "message") return { ...given, type, id };
  if (role !== "user" && role !== "assistant")
    throw refuse(
      "The role of an item must be user or assistant; send `instructions` with each request",
      `${path}.role`,
    );
  const text = role === "user" ? { type: "input_text" } : { type: "output_text", annotations: [] };
  const parts = typeof content === "string" ? [{ ...text, text: content }] : (content ?? []);
  return { status: "completed", ...given, id, type, role, content: parts };
}

/** A message of the user begins a turn. */
function groupByTurn(items: readonly JsonObject[]): readonly (readonly JsonObject[])[] {
  const groups: JsonObject[][] = [];
  for (const item of items) {
    if (groups.length === 0 || item["role"] === "user") groups.push([]);
    groups.at(-1)?.push(item);
  }
  return groups;
}

/** A group without a message for the model, such as an approval alone, has no turn. */
function alignTurns(
  messages: readonly (readonly OpenaiMessage[])[],
  turns: readonly EarlierTurn[],
): readonly (EarlierTurn | undefined)[] {
  let at = 0;
  return messages.map((list) => (list.length === 0 ? undefined : turns[at++]));
}

const FILES: ReadonlySet<Json | undefined> = new Set(["input_image", "image_url", "input_file", "file"]);
const isFile = (part: Json): boolean => FILES.has(toJsonObject(part)["type"]);

/** Replaces the files of a message by references to the attachments of its run. */
function dropFiles(item: JsonObject): JsonObject {
  const { role, content } = item;
  if (role !== "user" || !Array.isArray(content)) return item;
  let file = 0;
  return { ...item, content: (content as readonly Json[]).map((part) => (isFile(part) ? { file: file++ } : part)) };
}

function dropFileParts(item: JsonObject): JsonObject {
  const { content } = item;
  if (!Array.isArray(content)) return item;
  return { ...item, content: (content as readonly Json[]).filter((part) => toJsonObject(part)["file"] === undefined) };
}
