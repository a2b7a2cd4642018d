/**
 * What a program sends to an agent: a text, a text with files, or the messages of a conversation in the form of the AI
 * SDK. Reading it checks the form; it loads nothing.
 */
import { dropUndefined } from "../protocol/drop-undefined.ts";
import { type JsonObject, LoomError } from "../protocol/index.ts";
import { isJsonObject } from "../protocol/json.ts";
import { describeValue } from "../protocol/fault.ts";

/** A file of a message: a path, an address or bytes. */
export type InputAttachment =
  | { readonly path: string; readonly mediaType?: string; readonly name?: string }
  /** An `https:` or `http:` address of a public host, or a `data:` URL. */
  | { readonly url: string | URL; readonly mediaType?: string; readonly name?: string }
  | { readonly data: Uint8Array; readonly mediaType?: string; readonly name?: string };

/** A part of an `InputMessage`. */
export type InputPart =
  | { readonly type: "text" | "reasoning"; readonly text: string }
  /** `data` and `image` are bytes, Base64 text or a URL. */
  | {
      readonly type: "file";
      readonly data: Uint8Array | string | URL;
      readonly mediaType: string;
      readonly filename?: string;
    }
  | { readonly type: "image"; readonly image: Uint8Array | string | URL; readonly mediaType?: string }
  | { readonly type: "tool-call"; readonly toolCallId: string; readonly toolName: string; readonly input: unknown }
  | {
      readonly type: "tool-result";
      readonly toolCallId: string;
      readonly toolName: string;
      readonly output: { readonly type: string; readonly value?: unknown };
    };

/**
 * A message of a conversation. Model messages of the AI SDK have this form. Other parts than those of `InputPart`, and
 * system messages, throw `invalid_command`.
 */
export interface InputMessage {
  readonly role: "system" | "user" | "assistant" | "tool";
  readonly content: string | readonly (InputPart | { readonly type: string })[];
}

/**
 * A message for an agent.
 *
 * Of a list of messages, the last must be the user's question. If the session is new, the messages before it become its
 * history; otherwise the session already has its history, and they are ignored.
 */
export type AgentInput =
  | string
  | { readonly text?: string; readonly attachments?: readonly InputAttachment[] }
  | readonly InputMessage[];

/** A message of the user with its files. */
export interface InputQuestion {
  readonly text: string;
  readonly attachments: readonly InputAttachment[];
}

/** A question of the user and what followed it. */
export interface EarlierTurn {
  readonly question: InputQuestion;
  readonly parts: readonly Exclude<InputPart, { readonly type: "file" | "image" }>[];
}

export interface CheckedAgentInput extends InputQuestion {
  readonly earlier: readonly EarlierTurn[];
}

const MAX_MESSAGES = 1000;

/** Throws `invalid_command`. */
export function checkInput(input: AgentInput): CheckedAgentInput {
  if (typeof input === "string") return { text: input, attachments: [], earlier: [] };
  if (Array.isArray(input)) return checkMessages(input as readonly unknown[]);
  const { text = "", attachments = [] } = Object(input) as { readonly text?: unknown; readonly attachments?: unknown };
  if (typeof input !== "object" || input === null || typeof text !== "string" || !Array.isArray(attachments))
    throw invalid(
      `The message must be a string, an object with \`text\` and \`attachments\`, or a list of messages, not ${describeValue(input)}`,
    );
  return { text, attachments: (attachments as unknown[]).map(checkAttachment), earlier: [] };
}

function checkAttachment(given: unknown): InputAttachment {
  const { path, url, data } = Object(given) as { readonly [name: string]: unknown };
  if (typeof path === "string" || typeof url === "string" || url instanceof URL || data instanceof Uint8Array)
    return given as InputAttachment;
  throw invalid("An attachment needs a `path`, a `url`, or `data` as a Uint8Array");
}

function checkMessages(messages: readonly unknown[]): CheckedAgentInput {
  if (messages.length > MAX_MESSAGES)
    throw invalid(`At most ${MAX_MESSAGES} messages are allowed, not ${messages.length}`, "messages");
  const turns: { question: InputQuestion; parts: EarlierTurn["parts"][number][] }[] = [];
  const calls = new Set<string>();
  for (const [index, message] of messages.entries()) {
    const { role, parts } = checkMessage(message, `messages[${index}]`);
    if (role === "user") turns.push({ question: toQuestion(parts, `messages[${index}].content`), parts: [] });
    else {
      // A conversation may begin with a greeting of the assistant.
      if (turns.length === 0) turns.push({ question: { text: "", attachments: [] }, parts: [] });
      for (const [at, part] of parts.entries()) checkCallOrder(part, calls, `messages[${index}].content[${at}]`);
      turns.at(-1)?.parts.push(...parts.filter(isAnswerPart));
    }
  }
  const last = turns.pop();
  if (last === undefined || last.parts.length > 0 || readField(messages.at(-1), "role") !== "user")
    throw invalid("The last message must be the user's", "messages");
  return { ...last.question, earlier: turns };
}

function checkMessage(
  message: unknown,
  path: string,
): { readonly role: unknown; readonly parts: readonly InputPart[] } {
  const { role, content } = Object(message) as { readonly role?: unknown; readonly content?: unknown };
  if (role === "system")
    throw invalid(`${path} is a system message; use the option \`systemInstructions\` of the agent`, path);
  if (role !== "user" && role !== "assistant" && role !== "tool")
    throw invalid(`${path} must have the role user, assistant or tool, not ${describeValue(role)}`, path);
  if (typeof content === "string") return { role, parts: [{ type: "text", text: content }] };
  if (!Array.isArray(content)) throw invalid(`${path} needs \`content\`: a string or a list of parts`, path);
  return { role, parts: (content as unknown[]).map((part, index) => checkPart(part, `${path}.content[${index}]`)) };
}

function checkPart(part: unknown, path: string): InputPart {
  const fields = Object(part) as { readonly [name: string]: unknown };
  const isCall = typeof fields["toolCallId"] === "string" && typeof fields["toolName"] === "string";
  const isNamed = isOptionalText(fields["mediaType"]) && isOptionalText(fields["filename"]);
  const known = new Map([
    ["text", typeof fields["text"] === "string"],
    ["reasoning", typeof fields["text"] === "string"],
    ["file", isData(fields["data"]) && isNamed],
    ["image", isData(fields["image"]) && isNamed],
    ["tool-call", isCall],
    ["tool-result", isCall && isOutput(fields["output"])],
  ]);
  if (known.get(String(fields["type"])) === true) return part as InputPart;
  throw invalid(`${path} is not a text, file, image, reasoning, tool-call or tool-result part`, path);
}

/** `open` has the calls without a result. */
function checkCallOrder(part: InputPart, open: Set<string>, path: string): void {
  if (part.type === "tool-call") {
    if (open.has(part.toolCallId)) throw invalid(`${path} repeats a call that has no result`, path);
    open.add(part.toolCallId);
  } else if (part.type === "tool-result" && !open.delete(part.toolCallId))
    throw invalid(`${path} is the result of a call that is not among the messages`, path);
}

const isOptionalText = (value: unknown): boolean => value === undefined || typeof value === "string";

const readField = (value: unknown, name: string): unknown =>
  (Object(value) as { readonly [name: string]: unknown })[name];
const isData = (value: unknown): boolean =>
  typeof value === "string" || value instanceof URL || value instanceof Uint8Array;
const isOutput = (value: unknown): boolean => typeof readField(value, "type") === "string";

function isAnswerPart(part: InputPart): part is EarlierTurn["parts"][number] {
  return part.type !== "file" && part.type !== "image";
}

function toQuestion(parts: readonly InputPart[], path: string): InputQuestion {
  const texts = parts.flatMap((part) => (part.type === "text" ? [part.text] : []));
  const attachments = parts.flatMap((part, index): InputAttachment[] => {
    if (part.type !== "file" && part.type !== "image") return [];
    const place = `${path}[${index}].${part.type === "file" ? "data" : "image"}`;
    if (part.type === "image") return [toAttachment(place, part.image, part.mediaType)];
    return [toAttachment(place, part.data, part.mediaType, part.filename)];
  });
  return { text: texts.join("\n"), attachments };
}

function toAttachment(
  path: string,
  data: Uint8Array | string | URL,
  mediaType?: string,
  name?: string,
): InputAttachment {
  const about = dropUndefined({ mediaType, name });
  if (data instanceof Uint8Array) return { data, ...about };
  const isUrl = data instanceof URL || /^(?:https?|data):/i.test(data);
  return isUrl ? { url: data, ...about } : { data: readBase64(data, path), ...about };
}

/** Decodes Base64, with or without padding. Throws `invalid_command` for any other text, such as a path. */
export function readBase64(text: string, path: string): Uint8Array {
  if (text.length % 4 === 1 || !/^[A-Za-z0-9+/]*={0,2}$/.test(text)) throw invalid(`${path} must be Base64`, path);
  return Buffer.from(text, "base64");
}

/** The arguments of a call as an object; other values are kept as `input`. */
export function toArguments(input: unknown): JsonObject {
  return isJsonObject(input) ? input : { input: JSON.stringify(input ?? null) };
}

/** `path` is the place of the fault in the input, for clients that show it. */
function invalid(message: string, path?: string): LoomError {
  return new LoomError("invalid_command", message, path === undefined ? {} : { path });
}
