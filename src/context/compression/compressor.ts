/**
 * Makes a prompt fit into the context window of a model: summarizes the oldest turns with a model and, if that is not
 * enough, cuts tool results. It changes only what is sent to the model; the log keeps every message. Per session it keeps
 * the latest summaries and which tool results were cut, so that the next prompt is compressed in the same way.
 *
 * Invariants:
 * - A valid prompt stays valid; the system message, the latest turns, open tool calls and pinned facts are kept; a tool
 *   call stays together with its result; a prompt that fits is returned unchanged except for pinned facts.
 * - At most one new summary per prompt; concurrent prompts of one session never request the same summary twice; a prompt
 *   that cannot be made to fit is reported.
 */
import { createCancelled } from "../../models/attempt-monitor.ts";
import type { LanguageModel, ModelMessage } from "../../models/model.ts";
import { resolveModel } from "../../models/resolve-model.ts";
import { LoomError } from "../../protocol/index.ts";
import { compressPrompt } from "./compress-prompt.ts";
import { type FitOptions, SessionMemory } from "./compression-context.ts";
import { checkCompressionOptions, type CompressionOptions, computeBudget } from "./compression-options.ts";
import { boundTokens, type Prompt, PromptTokens } from "./prompt-tokens.ts";
import { loadTokenCounter, type TokenCounter } from "./token-counter.ts";

export class Compressor {
  readonly #options: CompressionOptions;
  readonly #pin: (messages: readonly ModelMessage[]) => readonly ModelMessage[];
  readonly #memories = new WeakMap<object, SessionMemory>();
  readonly #counters = new WeakMap<TokenCounter, PromptTokens>();
  #writer: Promise<LanguageModel> | undefined;
  #hasReportedMissing = false;

  /** Throws `invalid_arguments` for an invalid option. */
  constructor(options: CompressionOptions = {}) {
    checkCompressionOptions(options);
    this.#options = options;
    this.#pin = pinFacts(options.pinned ?? []);
  }

  /**
   * Returns the messages to send: unchanged if the prompt fits, otherwise fewer. Throws `prompt_too_large` if it certainly
   * cannot be made to fit, or `cancelled` if the signal is aborted.
   */
  async fit(given: Prompt, options: FitOptions): Promise<readonly ModelMessage[]> {
    const { signal, model } = options;
    assertNotAborted(signal);
    const messages = this.#pin(given.messages);
    const prompt = { ...given, messages };
    const budget = computeBudget(this.#options, model, given.settings);
    const isWhole = options.isHistoryTruncated !== true;
    // Most prompts are short and need no tokenizer.
    if (isWhole && boundTokens(prompt) <= budget.limit) return messages;
    const tokens = await this.#findTokens(model);
    await tokens.prepare(messages, signal);
    assertNotAborted(signal);
    if (tokens.missing !== undefined && !this.#hasReportedMissing) {
      this.#hasReportedMissing = true;
      options.onError?.(createMissingPackageError(tokens.missing));
    }
    const size = tokens.countRest(prompt) + tokens.countMessages(messages);
    if (isWhole && size <= budget.limit) return messages;
    let memory = this.#memories.get(options.session);
    if (memory === undefined) this.#memories.set(options.session, (memory = new SessionMemory()));
    const findWriter = (reader: LanguageModel) => this.#findWriter(reader);
    return compressPrompt(prompt, { ...options, tokens, budget, memory, options: this.#options, findWriter });
  }

  async #findTokens(model: LanguageModel): Promise<PromptTokens> {
    const counter = await loadTokenCounter(model);
    let tokens = this.#counters.get(counter);
    if (tokens === undefined) this.#counters.set(counter, (tokens = new PromptTokens(counter)));
    return tokens;
  }

  async #findWriter(reader: LanguageModel): Promise<LanguageModel> {
    if (this.#options.model === undefined) return reader;
    this.#writer ??= resolveModel(this.#options.model);
    try {
      return await this.#writer;
    } catch (error) {
      // The next summary tries again.
      this.#writer = undefined;
      throw error;
    }
  }
}

function assertNotAborted(signal: AbortSignal): void {
  if (signal.aborted) throw createCancelled(signal.reason);
}

function createMissingPackageError(name: string): LoomError {
  const message = `${name} could not be loaded, so tokens are estimated. For exact counts: npm install ${name}`;
  return new LoomError("missing_package", message, { package: name, stage: "compression" });
}

/**
 * Returns a function that appends the facts to the system message, which compression never changes. Adding them twice
 * has no effect; without facts the messages stay unchanged.
 */
function pinFacts(facts: readonly string[]): (messages: readonly ModelMessage[]) => readonly ModelMessage[] {
  const lines = facts.map((fact) => fact.trim()).filter((fact) => fact !== "");
  if (lines.length === 0) return (messages) => messages;
  const block = ["Facts to keep in mind:", ...lines.map((line) => `- ${line}`)].join("\n");
  // Reuse the message of the last prompt, so that its tokens are counted once.
  let last: ModelMessage = { role: "system", content: block };
  return (messages) => {
    const [first, ...rest] = messages;
    if (first?.role !== "system") return [{ role: "system", content: block }, ...messages];
    if (first.content === block || first.content.endsWith(`\n\n${block}`)) return messages;
    const content = `${first.content}\n\n${block}`;
    if (last.content !== content) last = { role: "system", content };
    return [last, ...rest];
  };
}
