/**
 * A demo that needs no key and no network: it answers by a table of rules (`demo/rules.ts`) and says what it is. It calls
 * tools and streams word by word. The same prompt and seed always give the same answer.
 */
import type { JsonObject } from "../protocol/index.ts";
import { isJsonObject } from "../protocol/json.ts";
import { answerMessage, type DemoAnswer } from "./demo/answer-message.ts";
import { answerThought } from "./demo/answer-thought.ts";
import { fillSchema } from "./demo/demo-task.ts";
import { LABEL, SUMMARY } from "./demo/demo-texts.ts";
import { type DemoConversation, readConversation } from "./demo/read-conversation.ts";
import type { LanguageModel, ModelMessage, ModelTool } from "./model.ts";
import { createPartStream, type PartSource, pauseFor } from "./part-stream.ts";
import { createAnswerParts, splitText } from "./create-parts.ts";
import type { StreamPart } from "./stream-part.ts";

/** Options of `OfflineModel`. */
export interface OfflineModelOptions {
  /** Delay before each delta in milliseconds. The short answers of a search are faster. Default: 0. */
  readonly delayMs?: number;
  /** Seed for random choices, unless the call has its own. Default: 1. */
  readonly seed?: number;
}

interface OfflineRequest {
  readonly prompt: readonly ModelMessage[];
  readonly tools?: readonly JsonObject[];
  readonly toolChoice?: { readonly type: string; readonly toolName?: string };
  readonly responseFormat?: { readonly type: string; readonly name?: string; readonly schema?: JsonObject };
  readonly seed?: number;
  readonly abortSignal?: AbortSignal;
}

const INPUT_CHARACTERS = 6;
/** A search makes about a hundred calls and should still take only seconds. */
const SEARCH_DELAY_FACTOR = 0.4;

/**
 * A demo instead of a language model, in English and Chinese: arithmetic, dates, to-do lists, tables, charts, files and
 * the Game of 24, by fixed rules. To everything else it says that it is a demo.
 *
 * ```ts
 * const helper = agent({ model: new OfflineModel({ delayMs: 20 }), tools: createBuiltinTools() });
 * ```
 */
export class OfflineModel implements LanguageModel {
  readonly specificationVersion = "v4";
  readonly provider = "offline";
  readonly modelId = "offline";
  readonly #delayMs: number;
  readonly #seed: number;

  constructor(options: OfflineModelOptions = {}) {
    this.#delayMs = options.delayMs ?? 0;
    this.#seed = options.seed ?? 1;
  }

  async doStream(request: OfflineRequest): Promise<{ readonly stream: ReadableStream<StreamPart> }> {
    request.abortSignal?.throwIfAborted();
    const answer = chooseAnswer(request, request.seed ?? this.#seed);
    const parts = streamAnswer(request, answer);
    const delayMs = answer.isStep === true ? this.#delayMs * SEARCH_DELAY_FACTOR : this.#delayMs;
    const source = delayMs > 0 ? slowDown(parts, delayMs, request.abortSignal) : parts;
    return { stream: createPartStream(source, request.abortSignal) };
  }
}

function chooseAnswer(request: OfflineRequest, seed: number): DemoAnswer {
  const { prompt, tools = [], toolChoice, responseFormat } = request;
  const fixed = answerFixed(prompt);
  if (fixed !== undefined) return fixed;
  const offered = toolChoice?.type === "none" ? [] : tools.filter((tool) => isTool(tool));
  const isForced = toolChoice?.type === "tool" || toolChoice?.type === "required";
  const conversation = readConversation(prompt);
  const thought = answerThought(conversation, offered, responseFormat?.name, seed);
  if (thought !== undefined) return thought.isReply === true ? addLabel(thought, conversation) : thought;
  if (isForced) return answerForced(conversation, offered, toolChoice.toolName);
  const answer = addLabel(answerMessage(conversation, offered), conversation);
  const { type, schema } = responseFormat ?? {};
  if (type !== "json" || answer.text === "") return answer;
  const value = schema === undefined ? { answer: answer.text } : fillSchema(schema, answer.text);
  return { ...answer, text: JSON.stringify(value) };
}

/**
 * Titles and summaries are not written: an empty title keeps the one that the session has, and the summary says what is
 * missing.
 */
function answerFixed(prompt: readonly ModelMessage[]): DemoAnswer | undefined {
  const [first] = prompt;
  const system = first?.role === "system" ? first.content : "";
  if (system.startsWith("Write a title for the conversation")) return { text: "" };
  return system.startsWith("You condense conversations") ? { text: SUMMARY } : undefined;
}

/** Adds the label to the first answer of a conversation. */
function addLabel(answer: DemoAnswer, { language, hasLabel }: DemoConversation): DemoAnswer {
  return hasLabel || answer.text === "" ? answer : { ...answer, text: LABEL[language] + answer.text };
}

function* streamAnswer({ prompt }: OfflineRequest, answer: DemoAnswer): PartSource {
  const { reasoning = "", text, calls = [], error } = answer;
  yield { type: "stream-start" };
  const parts = createAnswerParts({
    modelId: "offline",
    version: "v4",
    reasoning,
    text,
    // Ids depend on the position in the conversation, so that the same prompt gives the same answer.
    calls: calls.map(({ name, input }, index) => ({
      id: `call_${prompt.length}_${index + 1}`,
      name,
      input: JSON.stringify(input),
    })),
    prompt: JSON.stringify(prompt, omitBytes),
    split: (piece, isInput) => (isInput ? splitText(piece, INPUT_CHARACTERS) : cutWords(piece)),
  });
  for (const part of parts)
    yield part.type === "finish" && error !== undefined ? { type: "error", error: new Error(error) } : part;
}

/** File bytes do not count as tokens. */
function omitBytes(key: string, value: unknown): unknown {
  return key === "data" && typeof value === "object" ? undefined : value;
}

/**
 * Answers a request that must call a tool, as for structured output: with the call that the message asks for, or else
 * with arguments filled from the text of the answer.
 */
function answerForced(
  conversation: DemoConversation,
  offered: readonly ModelTool[],
  toolName: string | undefined,
): DemoAnswer {
  const allowed = offered.filter(({ name }) => toolName === undefined || name === toolName);
  const answer = answerMessage(conversation, allowed);
  const [forced] = allowed;
  if ((answer.calls ?? []).length > 0 || forced === undefined) return answer;
  return { text: "", calls: [{ name: forced.name, input: fillSchema(forced.inputSchema, answer.text) }] };
}

function isTool(tool: JsonObject): tool is JsonObject & ModelTool {
  return typeof tool["name"] === "string" && isJsonObject(tool["inputSchema"]);
}

/** Splits a text into words with the space after them, and Chinese into pairs of characters. */
function cutWords(text: string): Iterable<string> {
  return text.match(/[\p{Script=Han}\p{P}]{1,2}\s*|[^\s\p{Script=Han}]+\s*|\s+/gu) ?? [];
}

function* slowDown(parts: PartSource, delayMs: number, signal: AbortSignal | undefined): PartSource {
  for (let next = parts.next(); next.done !== true; next = parts.next()) {
    if ("type" in next.value && next.value.type.endsWith("-delta")) yield pauseFor(delayMs, signal);
    yield next.value;
  }
}
