/**
 * Reads the request of an AI SDK chat. Of the messages that the client sends, only the new one counts: a message of the
 * user, or what the user added to the last answer. The others say which runs the client knows.
 *
 * The body comes from programs of others, so unknown fields and parts are ignored.
 */
import { readText } from "../../../dialects/frame-traits.ts";
import type { Json, JsonObject } from "../../../protocol/index.ts";
import { isJsonObject } from "../../../protocol/json.ts";
import type { Chat, StartRun } from "../../api/shapes.generated.ts";
import { refuse } from "../../endpoints/read-run-input.ts";
import type { CallAnswer } from "../client-protocol.ts";

/** A message that the client has. */
export interface KnownMessage {
  readonly id: string;
  readonly isAnswer: boolean;
  readonly hasText: boolean;
}

/** A message of the user, in the form of `StartRun`. */
export interface UserInput {
  readonly id: string | undefined;
  readonly message: NonNullable<StartRun["message"]>;
}

export interface UiRequest {
  /** The messages before the new one, oldest first. */
  readonly known: readonly KnownMessage[];
  /** The new message; undefined if the last message is an answer. */
  readonly input: UserInput | undefined;
  /** ID of the last message if it is an answer: the run that goes on. */
  readonly run: string | undefined;
  /** What the client added to its tool calls. */
  readonly answers: readonly CallAnswer[];
  /** Whether the new message may take the place of messages that were left out. assistant-ui edits like this. */
  readonly editsByOmission: boolean;
}

const BLOB_PATH = /\/v1\/sessions\/[^/]+\/blobs\/([\w-]+)$/;

/** Throws `invalid_request` with the path of the fault. */
export function readUiRequest(messages: NonNullable<Chat["messages"]>): UiRequest {
  const last = messages.at(-1);
  if (last === undefined) throw refuse("`messages` is empty", "messages");
  const path = `messages[${messages.length - 1}]`;
  const known = messages.slice(0, -1).flatMap(readKnown);
  // Messages of assistant-ui have this field; `useChat` names the message that it edits.
  const { metadata } = last;
  const editsByOmission = isJsonObject(metadata) && isJsonObject(metadata["custom"]);
  const id = typeof last["id"] === "string" && last["id"] !== "" ? last["id"] : undefined;
  if (last["role"] === "user")
    return { known, input: { id, message: readMessage(last, path) }, run: undefined, answers: [], editsByOmission };
  if (last["role"] !== "assistant" || id === undefined)
    throw refuse("The last message must be one of the user or an answer with an ID", path);
  return { known, input: undefined, run: id, answers: listParts(last).flatMap(readAnswer), editsByOmission };
}

function readKnown(message: JsonObject): readonly KnownMessage[] {
  const { id, role } = message;
  if (typeof id !== "string") return [];
  const hasText = listParts(message).some(
    ({ type, text }) => type === "text" && typeof text === "string" && text !== "",
  );
  return [{ id, isAnswer: role === "assistant", hasText }];
}

function listParts({ parts, content }: JsonObject): readonly JsonObject[] {
  if (Array.isArray(parts)) return parts.filter(isJsonObject);
  if (Array.isArray(content)) return content.filter(isJsonObject);
  return typeof content === "string" ? [{ type: "text", text: content }] : [];
}

function readMessage(message: JsonObject, path: string): UserInput["message"] {
  const texts: string[] = [];
  const attachments: NonNullable<StartRun["attachments"]>[number][] = [];
  for (const { type, text, url, mediaType, filename } of listParts(message)) {
    if (type === "text" && typeof text === "string") texts.push(text);
    if (type !== "file") continue;
    if (typeof url !== "string") throw refuse("A file must have a URL", path);
    const name = typeof filename === "string" ? { name: filename } : {};
    // A file that this server stored, as in `GET /api/chat/{chat}/messages`.
    const blob = BLOB_PATH.exec(url)?.[1];
    if (blob === undefined)
      attachments.push({ url, ...name, ...(typeof mediaType === "string" ? { media_type: mediaType } : {}) });
    else attachments.push({ blob_id: blob, ...name });
  }
  const text = texts.join("\n");
  if (text.trim() === "" && attachments.length === 0) throw refuse("The message is empty", path);
  return attachments.length === 0 ? text : { text, attachments };
}

/** Results of calls that the server carried out are read too; they are no answer to anything. */
function readAnswer({ state, toolCallId: call_id, approval, output, errorText }: JsonObject): readonly CallAnswer[] {
  if (typeof call_id !== "string") return [];
  const result = { type: "tool_result", call_id } as const;
  if (state === "output-available") return [{ ...result, output: output ?? null }];
  if (state === "output-error") return [{ ...result, output: readText(errorText) ?? "", is_error: true }];
  if (state !== "approval-responded" || !isJsonObject(approval)) return [];
  const { approved, reason } = approval;
  if (typeof approved !== "boolean") return [];
  const decision = approved ? "approved" : "rejected";
  return [{ type: "approve", call_id, decision, ...(typeof reason === "string" && reason !== "" ? { reason } : {}) }];
}

/** The field `system`, as assistant-ui sends it, and the texts of system messages. */
export function composeInstructions({ system = "", messages = [] }: Pick<Chat, "system" | "messages">): string {
  const given = messages.filter(({ role }) => role === "system").flatMap(listParts);
  const texts = given.map(({ text }) => (typeof text === "string" ? text : ""));
  return [system, ...texts].filter((text) => text.trim() !== "").join("\n\n");
}

/**
 * Reads tools that the client carries out: an object by name, as assistant-ui sends it, or a list. The schema of the
 * arguments is called `parameters` or `inputSchema`.
 */
export function readClientTools(tools: Json | undefined): NonNullable<StartRun["client_tools"]> {
  const named: readonly (readonly [Json | undefined, Json])[] = Array.isArray(tools)
    ? tools.map((tool: Json) => [isJsonObject(tool) ? tool["name"] : undefined, tool] as const)
    : Object.entries(isJsonObject(tools) ? tools : {});
  return named.flatMap(([name, tool]) => {
    if (typeof name !== "string" || !isJsonObject(tool)) return [];
    const { description, parameters, inputSchema = parameters } = tool;
    const about = typeof description === "string" ? { description } : {};
    return [{ name, ...about, ...(isJsonObject(inputSchema) ? { input_schema: inputSchema } : {}) }];
  });
}

/** The idempotency key of a message with this ID. */
export function toMessageKey(messageId: string): string {
  return `ai-sdk:${messageId}`;
}
