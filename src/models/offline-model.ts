/**
 * A rule-based model that needs no key and no network. It reads the same prompts as other models, calls tools and
 * streams word by word. The same prompt and seed always give the same answer.
 */
import { isJsonObject, type JsonObject } from "../protocol/index.ts";
import type { LanguageModel, ModelMessage, ModelTool, ModelTraits } from "./model.ts";
import { answerPrompt, type OfflineAnswer } from "./offline/answer-prompt.ts";
import { fillSchema } from "./offline/fill-schema.ts";
import { KNOWN_TOOLS } from "./offline/find-tasks.ts";
import { answerThought } from "./offline/thoughts/answer-thought.ts";
import { createPartStream, type PartSource, pauseFor } from "./part-stream.ts";
import { countUsage, splitText, createBlockParts, createCallParts, createFinishPart } from "./create-parts.ts";
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
  readonly responseFormat?: { readonly type: string; readonly schema?: JsonObject };
  readonly seed?: number;
  readonly abortSignal?: AbortSignal;
}

const INPUT_CHARACTERS = 6;
/** A search makes about a hundred calls and should still take only seconds. */
const SEARCH_DELAY_FACTOR = 0.4;

/**
 * A rule-based model that works without a key: arithmetic, dates, to-do lists, tables, charts, files and searches, in
 * English and Chinese.
 *
 * ```ts
 * const helper = agent({ model: new OfflineModel({ delayMs: 20 }), tools: createBuiltinTools() });
 * ```
 */
export class OfflineModel implements LanguageModel {
  readonly specificationVersion = "v4";
  readonly provider = "offline";
  readonly modelId = "offline";
  readonly traits: ModelTraits = {
    readsLastMessageOnly: true,
    acceptsAllFiles: true,
    canSummarize: false,
    structuredOutput: false,
  };
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
    const delayMs = answer.isSearchStep === true ? this.#delayMs * SEARCH_DELAY_FACTOR : this.#delayMs;
    const source = delayMs > 0 ? slowDown(parts, delayMs, request.abortSignal) : parts;
    return { stream: createPartStream(source, request.abortSignal) };
  }
}

function chooseAnswer({ prompt, tools = [], toolChoice }: OfflineRequest, seed: number): OfflineAnswer {
  const offered = toolChoice?.type === "none" ? [] : tools.filter((tool) => isTool(tool));
  return (
    answerForced(prompt, offered, toolChoice) ?? answerThought(prompt, offered, seed) ?? answerPrompt(prompt, offered)
  );
}

function* streamAnswer({ prompt, responseFormat }: OfflineRequest, answer: OfflineAnswer): PartSource {
  const { reasoning, text: plain, calls, error } = answer;
  const text = responseFormat?.type === "json" && plain !== "" ? writeJson(plain, responseFormat.schema) : plain;
  const inputs = calls.map(({ input }) => JSON.stringify(input));
  yield { type: "stream-start" };
  yield { type: "response-metadata", modelId: "offline" };
  if (reasoning !== "") yield* createBlockParts("reasoning", "0", cutWords(reasoning));
  if (text !== "") yield* createBlockParts("text", "1", cutWords(text));
  // Ids depend on the position in the conversation, so that the same prompt gives the same answer.
  for (const [index, { name }] of calls.entries()) {
    yield* createCallParts(
      `call_${prompt.length}_${index + 1}`,
      name,
      splitText(inputs[index] ?? "", INPUT_CHARACTERS),
    );
  }
  if (error !== undefined) {
    yield { type: "error", error: new Error(error) };
    return;
  }
  const usage = countUsage(JSON.stringify(prompt, omitBytes), [reasoning, text, ...inputs].join(""));
  yield createFinishPart(calls.length > 0 ? "tool_calls" : "stop", usage, "v4");
}

/** File bytes do not count as tokens. */
function omitBytes(key: string, value: unknown): unknown {
  return key === "data" && typeof value === "object" ? undefined : value;
}

/**
 * Answers a request that must call a tool, as for structured output: with the call the message asks for, or else with
 * arguments filled from the text answer. A tool the offline model knows is never called with invented arguments.
 */
function answerForced(
  prompt: readonly ModelMessage[],
  offered: readonly ModelTool[],
  choice: OfflineRequest["toolChoice"],
): OfflineAnswer | undefined {
  if (choice?.type !== "tool" && choice?.type !== "required") return undefined;
  const forced = offered.find(({ name }) =>
    choice.type === "tool" ? name === choice.toolName : !KNOWN_TOOLS.has(name),
  );
  // User messages after an answer or a result only repeat the required format; the question comes before them.
  const last = prompt.findLastIndex(({ role }) => role !== "user");
  const asked =
    prompt[last]?.role === "assistant" || prompt[last]?.role === "tool" ? prompt.slice(0, last + 1) : prompt;
  const wanted = answerPrompt(asked, offered);
  const calls = wanted.calls.filter(({ name }) => choice.type === "required" || name === choice.toolName);
  if (calls.length > 0) return { ...wanted, calls };
  if (forced === undefined || KNOWN_TOOLS.has(forced.name)) return undefined;
  const text = wanted.text === "" ? answerPrompt(asked, []).text : wanted.text;
  const input = fillSchema(forced.inputSchema, text);
  return { reasoning: "", text: "", calls: isJsonObject(input) ? [{ name: forced.name, input }] : [] };
}

function writeJson(text: string, schema: JsonObject | undefined): string {
  return JSON.stringify(schema === undefined ? { answer: text } : fillSchema(schema, text));
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
