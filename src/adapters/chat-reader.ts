/**
 * Reads the chunks of OpenAI's chat completions API, one by one, also those of compatible servers. What has no event in
 * this protocol is kept as a frame.
 */
import type { Json, JsonObject } from "../protocol/index.ts";
import { ChatCalls } from "../dialects/openai-chat/chat-calls.ts";
import { toJsonObject } from "../protocol/json.ts";
import type { ModelAnswers } from "./model-answers.ts";
import { createCut, createFailure } from "./response-reader.ts";

/** Fields of a delta that are read; others are kept. */
const READ = new Set(["role", "content", "refusal", "tool_calls", "reasoning", "reasoning_content"]);

export class ChatReader {
  readonly #answers: ModelAnswers;
  /** True if another reader reports text, calls and ends. */
  readonly #isPartial: boolean;
  readonly #calls = new ChatCalls(() => `call_${crypto.randomUUID()}`);
  #id: Json | undefined;
  #finishReason: string | undefined;

  constructor(answers: ModelAnswers, { isPartial = false }: { readonly isPartial?: boolean } = {}) {
    this.#answers = answers;
    this.#isPartial = isPartial;
  }

  /** Reads a chunk. Throws `model_failed` if it reports an error. */
  take(chunk: JsonObject): void {
    if (chunk["error"] != null) throw createFailure(toJsonObject(chunk["error"])["code"]);
    const choices = Array.isArray(chunk["choices"]) ? (chunk["choices"] as readonly Json[]) : [];
    for (const choice of choices) this.#takeChoice(toJsonObject(choice), chunk);
    if (!this.#isPartial) this.#takeUsage(toJsonObject(chunk["usage"]));
  }

  /** Ends the answer if its finish reason has arrived. The usage may come later than the finish reason, or not at all. */
  flush(): void {
    if (this.#finishReason === undefined || this.#isPartial) return;
    this.#answers.end(this.#finishReason);
    this.#finishReason = undefined;
  }

  #takeChoice(choice: JsonObject, chunk: JsonObject): void {
    if ((choice["index"] ?? 0) !== 0) {
      this.#answers.keep({ ...chunk, choices: [choice] });
      return;
    }
    const delta = toJsonObject(choice["delta"]);
    if (!this.#begin(chunk, delta)) return;
    this.#answers.reason(delta["reasoning_content"] ?? delta["reasoning"]);
    if (!this.#isPartial) this.#answers.say(delta["content"]);
    this.#answers.say(delta["refusal"]);
    const calls = Array.isArray(delta["tool_calls"]) ? (delta["tool_calls"] as readonly Json[]) : [];
    for (const call of calls) this.#takeCall(toJsonObject(call));
    const rest = Object.entries(delta).filter(([name, value]) => !READ.has(name) && value != null);
    if (rest.length > 0) this.#answers.keep({ choices: [{ index: 0, delta: Object.fromEntries(rest) }] });
    if (typeof choice["finish_reason"] === "string") this.#finish(choice["finish_reason"]);
  }

  /** Begins an answer where one begins. False if the chunk belongs to no answer. */
  #begin(chunk: JsonObject, delta: JsonObject): boolean {
    const { id } = chunk;
    if (this.#isPartial) {
      if (id !== this.#id) this.#calls.clear();
      this.#id = id;
      return true;
    }
    const isOpen = this.#answers.isOpen && this.#finishReason === undefined;
    if (isOpen) {
      if (Boolean(id) && Boolean(this.#id) && id !== this.#id) throw createCut();
      return true;
    }
    // Some servers send an empty chunk after the finish reason.
    const isEmpty = Object.entries(delta).every(([name, value]) => name === "role" || value == null || value === "");
    if (isEmpty && this.#finishReason !== undefined && id === this.#id) return false;
    this.flush();
    this.#calls.clear();
    this.#id = id;
    this.#answers.begin(chunk["model"]);
    return true;
  }

  #takeCall(piece: JsonObject): void {
    const { call, delta } = this.#calls.take(piece);
    if (delta !== undefined) this.#answers.addArguments(call.callId, call.name, delta);
  }

  #finish(reason: string): void {
    this.#finishReason = reason;
    if (this.#isPartial) return;
    for (const { callId, name, input } of this.#calls.list()) this.#answers.call(callId, name, input);
    this.#calls.clear();
  }

  #takeUsage(usage: JsonObject): void {
    const { prompt_tokens: prompt, completion_tokens: completion, total_tokens: total } = usage;
    if (prompt === undefined || this.#finishReason === undefined) return;
    this.#answers.addUsage({ prompt, completion, total });
    this.flush();
  }
}
