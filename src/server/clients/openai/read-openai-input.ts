/**
 * Reads what OpenAI clients send: the messages of Chat Completions and the input items of Responses, as messages of a
 * run, and as answers to calls of a run that waits. It checks the form and looks nothing up.
 */
import { type OpenaiReference, parseOpenaiId } from "../../../dialects/openai-id.ts";
import type { Json, JsonObject } from "../../../protocol/index.ts";
import { isDeeperThan, isJsonObject, MAX_JSON_DEPTH, parseJson, toJsonObject } from "../../../protocol/json.ts";
import type { StartRun } from "../../api/shapes.generated.ts";
import { refuse } from "../../endpoints/read-run-input.ts";

export type OpenaiMessage = NonNullable<StartRun["messages"]>[number];

/** An answer of the client to a call of a run. */
export type OpenaiAnswer = { readonly of: OpenaiReference & { readonly call: string } } & (
  | { readonly type: "tool_result"; readonly output: string }
  | { readonly type: "approve"; readonly decision: "approved" | "rejected"; readonly reason?: string }
);

export interface OpenaiInput {
  /** Texts of system and developer messages. */
  readonly instructions: string;
  readonly messages: readonly OpenaiMessage[];
  /** The field that has the messages. */
  readonly field: "messages" | "input";
  /** The answers after the last message. */
  readonly answers: readonly OpenaiAnswer[];
  /** True if the input ends with answers to calls, also to those of another server. */
  readonly endsWithAnswers: boolean;
}

/** Maximum depth of arguments: their run stores them inside of other objects. */
const MAX_ARGUMENTS_DEPTH = MAX_JSON_DEPTH - 16;

const MAX_METADATA = 16;

/** Collects messages in order. */
class MessageList {
  readonly instructions: string[] = [];
  readonly messages: OpenaiMessage[] = [];
  answers: OpenaiAnswer[] = [];
  endsWithAnswers = false;
  /** Names of tools by call. */
  readonly #names = new Map<string, string>();

  add(role: unknown, content: Json | undefined, path: string): void {
    if (role === "system" || role === "developer") {
      this.instructions.push(readTexts(content).join("\n"));
      return;
    }
    if (role !== "user" && role !== "assistant")
      throw refuse("The role of a message must be system, developer, user, assistant or tool", `${path}.role`);
    const parts = readParts(content, `${path}.content`);
    this.#put({ role, content: role === "user" ? parts : parts.filter(({ type }) => type === "text") });
  }

  addCall(id: Json | undefined, name: Json | undefined, args: Json | undefined, path: string): void {
    if (typeof id !== "string" || typeof name !== "string") throw refuse("A call needs an ID and a name", path);
    if (this.#names.has(id)) return;
    this.#names.set(id, name);
    const input = typeof args === "string" ? ((parseJson(args) as Json | undefined) ?? args) : {};
    // The body was checked, but not what its texts contain.
    if (isDeeperThan(input, MAX_ARGUMENTS_DEPTH)) throw refuse("The arguments are nested too deeply", path);
    this.#put({ role: "assistant", content: [{ type: "tool-call", toolCallId: id, toolName: name, input }] });
  }

  addResult(id: Json | undefined, output: Json | undefined, path: string): void {
    if (typeof id !== "string") throw refuse("The result of a call needs the ID of the call", path);
    const value = typeof output === "string" ? output : describeParts(output);
    const name = this.#names.get(id);
    // A client may have left out the start of the conversation.
    if (name !== undefined) {
      const part = { type: "tool-result", toolCallId: id, toolName: name, output: { type: "text", value } };
      this.#put({ role: "tool", content: [part] });
    }
    const of = parseOpenaiId("call", id);
    this.#answer(
      of?.call === undefined ? undefined : { type: "tool_result", of: { ...of, call: of.call }, output: value },
    );
  }

  addDecision({ approval_request_id, approve, reason }: JsonObject, path: string): void {
    const of = parseOpenaiId("approval", approval_request_id);
    if (of?.call === undefined) throw refuse("There is no such approval request", `${path}.approval_request_id`);
    const decision = approve === true ? "approved" : "rejected";
    const why = typeof reason === "string" ? { reason } : {};
    this.#answer({ type: "approve", of: { ...of, call: of.call }, decision, ...why });
  }

  finish(field: OpenaiInput["field"]): OpenaiInput {
    const { messages, answers, endsWithAnswers } = this;
    const instructions = this.instructions.filter((text) => text.trim() !== "").join("\n\n");
    return { instructions, messages, field, answers, endsWithAnswers };
  }

  #put(message: OpenaiMessage): void {
    this.messages.push(message);
    if (message.role === "tool") return;
    this.answers = [];
    this.endsWithAnswers = false;
  }

  #answer(answer: OpenaiAnswer | undefined): void {
    this.endsWithAnswers = true;
    if (answer !== undefined) this.answers.push(answer);
  }
}

/** Reads the messages of a Chat Completions request. Throws `invalid_request` with the path of the fault. */
export function readChatMessages(messages: readonly JsonObject[]): OpenaiInput {
  const list = new MessageList();
  for (const [index, message] of messages.entries()) {
    const path = `messages[${index}]`;
    const { role, content, tool_calls, tool_call_id } = message;
    if (role === "tool") list.addResult(tool_call_id, content, `${path}.tool_call_id`);
    else {
      const calls = Array.isArray(tool_calls) ? (tool_calls as readonly Json[]) : [];
      // A message with calls has no text, or `null`.
      if (calls.length === 0 || readTexts(content).join("") !== "") list.add(role, content, path);
      for (const [at, call] of calls.entries()) {
        const { id, function: called } = toJsonObject(call);
        const { name, arguments: args } = toJsonObject(called);
        list.addCall(id, name, args, `${path}.tool_calls[${at}]`);
      }
    }
  }
  return list.finish("messages");
}

/** Reads the input of a Responses request. Throws `invalid_request` with the path of the fault. */
export function readResponseInput(input: string | readonly JsonObject[]): OpenaiInput {
  const list = new MessageList();
  const items: readonly JsonObject[] = typeof input === "string" ? [{ role: "user", content: input }] : input;
  for (const [index, item] of items.entries()) {
    const path = `input[${index}]`;
    const { type, role, content, call_id, name, arguments: args, output } = item;
    if (type === undefined || type === "message") list.add(role, content, path);
    else if (type === "function_call") list.addCall(call_id, name, args, path);
    else if (type === "function_call_output") list.addResult(call_id, output, `${path}.call_id`);
    else if (type === "mcp_approval_response") list.addDecision(item, path);
    else if (type === "mcp_call" && typeof output === "string") {
      // A tool of the server, in a conversation that the client kept.
      list.addCall(item["id"], name, args, path);
      list.addResult(item["id"], output, path);
      list.endsWithAnswers = false;
    }
  }
  return list.finish("input");
}

function readParts(content: Json | undefined, path: string): readonly JsonObject[] {
  if (typeof content === "string") return [{ type: "text", text: content }];
  if (!Array.isArray(content)) throw refuse("A message needs `content`: a text or a list of parts", path);
  return (content as readonly Json[]).map((part, index) => readPart(toJsonObject(part), `${path}[${index}]`));
}

function readPart(part: JsonObject, path: string): JsonObject {
  switch (part["type"]) {
    case "text":
    case "input_text":
    case "output_text":
      return { type: "text", text: readString(part["text"]) };
    case "refusal":
      return { type: "text", text: readString(part["refusal"]) };
    case "image_url":
    case "input_image": {
      const given = part["image_url"];
      const url = isJsonObject(given) ? given["url"] : given;
      if (typeof url !== "string") throw refuse("An image needs a URL; files of OpenAI are not available here", path);
      return { type: "image", image: url };
    }
    case "file":
    case "input_file": {
      const { file_data, file_url, filename } = { ...part, ...toJsonObject(part["file"]) };
      const data = file_data ?? file_url;
      if (typeof data !== "string")
        throw refuse("A file needs `file_data`; files of OpenAI are not available here", path);
      return { type: "file", data, ...(typeof filename === "string" ? { filename } : {}) };
    }
    default:
      throw refuse("A part of a message must be a text, an image or a file", `${path}.type`);
  }
}

/** The result of a call as text: its texts, or JSON if it has other parts. */
function describeParts(output: Json | undefined): string {
  const texts = readTexts(output);
  return Array.isArray(output) && texts.length === output.length ? texts.join("\n") : JSON.stringify(output ?? "");
}

/** The texts of a message. */
export function readTexts(content: Json | undefined): readonly string[] {
  if (typeof content === "string") return [content];
  if (!Array.isArray(content)) return [];
  return (content as readonly Json[]).flatMap((part) => {
    const { text } = toJsonObject(part);
    return typeof text === "string" ? [text] : [];
  });
}

const readString = (value: Json | undefined): string => (typeof value === "string" ? value : "");

/** Throws `invalid_request` unless the metadata is a few texts. */
export function assertMetadata(metadata: JsonObject): void {
  const entries = Object.entries(metadata);
  if (entries.length > MAX_METADATA || entries.some(([, value]) => typeof value !== "string"))
    throw refuse(`\`metadata\` can have at most ${MAX_METADATA} texts`, "metadata");
}
