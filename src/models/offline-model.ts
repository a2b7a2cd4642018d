/**
 * A model that needs no key and no network: rules instead of learning, and it says so. It reads the same prompts as any
 * other, calls tools, streams word by word, and gives the same answer to the same prompt and seed every time.
 */
import { isJsonObject, type JsonObject } from "../protocol/index.ts";
import type { LanguageModel, ModelMessage, ModelTool } from "./model.ts";
import { answerPrompt, type OfflineAnswer } from "./offline/answer-prompt.ts";
import { fillSchema } from "./offline/fill-schema.ts";
import { listAbilities } from "./offline/find-errands.ts";
import { answerThought } from "./offline/thoughts/answer-thought.ts";
import { createPartStream, type PartSource, pauseFor } from "./part-stream.ts";
import { countUsage, cutText, speakBlock, speakCall, speakFinish } from "./spoken-parts.ts";
import type { StreamPart } from "./stream-part.ts";

export interface OfflineModelOptions {
  /** Before each delta, so that people can watch it. The many small answers of a search come more quickly. */
  readonly delayMs?: number;
  /** Where it has a choice, it is made by this number, unless a call brings its own. 1 when absent. */
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
/** A search of a hundred answers should take seconds, where one answer takes a few. */
const SEARCH_PACE = 0.4;

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
    const answer = decide(request, request.seed ?? this.#seed);
    const parts = speak(request, answer);
    const delayMs = answer.isOfSearch === true ? this.#delayMs * SEARCH_PACE : this.#delayMs;
    const source = delayMs > 0 ? slowDown(parts, delayMs, request.abortSignal) : parts;
    return { stream: createPartStream(source, request.abortSignal) };
  }
}

function decide({ prompt, tools = [], toolChoice }: OfflineRequest, seed: number): OfflineAnswer {
  const offered = toolChoice?.type === "none" ? [] : tools.filter((tool) => isTool(tool));
  return (
    answerForced(prompt, offered, toolChoice) ?? answerThought(prompt, offered, seed) ?? answerPrompt(prompt, offered)
  );
}

function* speak({ prompt, responseFormat }: OfflineRequest, answer: OfflineAnswer): PartSource {
  const { reasoning, text: said, calls, error } = answer;
  const text = responseFormat?.type === "json" && said !== "" ? writeJson(said, responseFormat.schema) : said;
  const inputs = calls.map(({ input }) => JSON.stringify(input));
  yield { type: "stream-start" };
  yield { type: "response-metadata", modelId: "offline" };
  if (reasoning !== "") yield* speakBlock("reasoning", "0", cutWords(reasoning));
  if (text !== "") yield* speakBlock("text", "1", cutWords(text));
  // Ids from the place in the conversation: the same prompt gives the same answer.
  for (const [index, { name }] of calls.entries()) {
    yield* speakCall(`call_${prompt.length}_${index + 1}`, name, cutText(inputs[index] ?? "", INPUT_CHARACTERS));
  }
  if (error !== undefined) {
    yield { type: "error", error: new Error(error) };
    return;
  }
  const usage = countUsage(JSON.stringify(prompt, omitBytes), [reasoning, text, ...inputs].join(""));
  yield speakFinish(calls.length > 0 ? "tool_calls" : "stop", usage, "v4");
}

/** The bytes of files are no words. */
function omitBytes(key: string, value: unknown): unknown {
  return key === "data" && typeof value === "object" ? undefined : value;
}

/**
 * A call that must be made, as of the tool that gives an answer its form: the one the message asks for, or else one
 * filled with what there is to say. What is known to do something is not called with made-up arguments.
 */
function answerForced(
  prompt: readonly ModelMessage[],
  offered: readonly ModelTool[],
  choice: OfflineRequest["toolChoice"],
): OfflineAnswer | undefined {
  if (choice?.type !== "tool" && choice?.type !== "required") return undefined;
  const known = new Set(listAbilities(new Set(offered.map(({ name }) => name))).map(({ tool }) => tool));
  const forced = offered.find(({ name }) => (choice.type === "tool" ? name === choice.toolName : !known.has(name)));
  // What is said after the answer, or after a result, is about the form; the question is before it.
  const last = prompt.findLastIndex(({ role }) => role !== "user");
  const asked =
    prompt[last]?.role === "assistant" || prompt[last]?.role === "tool" ? prompt.slice(0, last + 1) : prompt;
  const wanted = answerPrompt(asked, offered);
  const calls = wanted.calls.filter(({ name }) => choice.type === "required" || name === choice.toolName);
  if (calls.length > 0) return { ...wanted, calls };
  if (forced === undefined || known.has(forced.name)) return undefined;
  const said = wanted.text === "" ? answerPrompt(asked, []).text : wanted.text;
  const input = fillSchema(forced.inputSchema, said);
  return { reasoning: "", text: "", calls: isJsonObject(input) ? [{ name: forced.name, input }] : [] };
}

function writeJson(said: string, schema: JsonObject | undefined): string {
  return JSON.stringify(schema === undefined ? { answer: said } : fillSchema(schema, said));
}

function isTool(tool: JsonObject): tool is JsonObject & ModelTool {
  return typeof tool["name"] === "string" && isJsonObject(tool["inputSchema"]);
}

/** Words with the space after them; Chinese has none, and goes two characters at a time. */
function cutWords(text: string): Iterable<string> {
  return text.match(/[\p{Script=Han}\p{P}]{1,2}\s*|[^\s\p{Script=Han}]+\s*|\s+/gu) ?? [];
}

function* slowDown(parts: PartSource, delayMs: number, signal: AbortSignal | undefined): PartSource {
  for (let next = parts.next(); next.done !== true; next = parts.next()) {
    if ("type" in next.value && next.value.type.endsWith("-delta")) yield pauseFor(delayMs, signal);
    yield next.value;
  }
}
