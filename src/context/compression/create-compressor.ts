/**
 * Creates a compressor that summarizes the oldest turns with a model. Per session it caches the latest summaries and
 * which tool results were cut, so that the next prompt is compressed in the same way.
 *
 * Invariants: those of the contract; at most one new summary per prompt; concurrent prompts of one session never
 * request the same summary twice; a prompt that cannot be made to fit is reported.
 */
import { createCancelled } from "../../models/attempt-monitor.ts";
import type { LanguageModel, ModelMessage } from "../../models/model.ts";
import { resolveModel } from "../../models/resolve-model.ts";
import { LoomError } from "../../protocol/index.ts";
import { BoundedMap } from "../../protocol/bounded-map.ts";
import { compressPrompt } from "./compress-prompt.ts";
import { checkCompressionOptions, type CompressionOptions, computeBudget } from "./compression-options.ts";
import { SessionMemory } from "./compression-context.ts";
import type { Compressor, FitEvent, FitOptions, FittedPrompt } from "./compressor.ts";
import { boundTokens, PromptTokens } from "./prompt-tokens.ts";
import { loadTokenCounter, type TokenCounter } from "./token-counter.ts";

/** Sessions cached per scope; the least recently used are evicted. The log still contains their summaries. */
const MAX_SESSIONS = 1000;

/**
 * Creates a compressor. When a prompt exceeds the threshold, it summarizes the oldest turns with a model; if that is
 * not enough, it cuts tool results. One compressor can serve many sessions. Throws `invalid_arguments` for an invalid
 * option.
 *
 * Agents create their own from the option `compression`; call this only to compress prompts without an agent.
 *
 * ```ts
 * const compressor = createCompressor({ contextWindow: 16_000, pinned: ["The budget is 500 €."] });
 * const { messages } = await compressor.fit({ messages: history }, { sessionId: "chat-1", model, signal });
 * ```
 */
export function createCompressor(options: CompressionOptions = {}): Compressor {
  checkCompressionOptions(options);
  const memories = new SessionMemories();
  const counters = new WeakMap<TokenCounter, PromptTokens>();
  const pin = pinFacts(options.pinned ?? []);
  const findTokens = async (model: LanguageModel): Promise<PromptTokens> => {
    const counter = await loadTokenCounter(model);
    let tokens = counters.get(counter);
    if (tokens === undefined) counters.set(counter, (tokens = new PromptTokens(counter)));
    return tokens;
  };
  let writer: Promise<LanguageModel> | undefined;
  const findWriter = async (model: LanguageModel): Promise<LanguageModel> => {
    if (options.model === undefined) return model;
    writer ??= resolveModel(options.model);
    try {
      return await writer;
    } catch (error) {
      // The next summary tries again.
      writer = undefined;
      throw error;
    }
  };
  let hasReportedMissing = false;
  let calls = 0;
  const createDefaultCallId = (): string => `summary.${++calls}`;

  return {
    fit: async (given, { onEvent, onError, createCallId = createDefaultCallId, ...context }): Promise<FittedPrompt> => {
      const { signal } = context;
      const assertNotAborted = (): void => {
        if (signal.aborted) throw createCancelled(signal.reason);
      };
      assertNotAborted();
      const messages: readonly ModelMessage[] = pin(given.messages);
      const prompt = { ...given, messages };
      const budget = computeBudget(options, context.model, given.settings);
      const isWhole = context.isHistoryTruncated !== true;
      // Most prompts are short and need no tokenizer.
      if (isWhole && boundTokens(prompt) <= budget.limit) return { messages, events: [] };
      const tokens = await findTokens(context.model);
      await tokens.prepare(messages, signal);
      assertNotAborted();
      if (tokens.missing !== undefined && !hasReportedMissing) {
        hasReportedMissing = true;
        onError?.(createMissingPackageError(tokens.missing));
      }
      const size = tokens.countRest(prompt) + tokens.countMessages(messages);
      if (isWhole && size <= budget.limit) return { messages, events: [] };
      const events: FitEvent[] = [];
      const emit = (event: FitEvent): void | Promise<void> => {
        events.push(event);
        const handled = onEvent?.(event);
        if (event.type === "llm_start") return handled;
        // Only `llm_start` is awaited. The receiver handles failures of the other events.
        void Promise.resolve(handled).catch(() => undefined);
      };
      const memory = memories.get(context);
      const shared = { tokens, budget, memory, options, findWriter, emit, createCallId };
      const fitted = await compressPrompt(prompt, { ...context, ...shared });
      return { messages: fitted, events };
    },
  };
}

class SessionMemories {
  readonly #scopes = new WeakMap<object, BoundedMap<SessionMemory>>();

  get({ scope = this, sessionId }: Pick<FitOptions, "scope" | "sessionId">): SessionMemory {
    let sessions = this.#scopes.get(scope);
    if (sessions === undefined) this.#scopes.set(scope, (sessions = new BoundedMap(MAX_SESSIONS)));
    const memory = sessions.get(sessionId) ?? new SessionMemory();
    // Setting it again makes it the most recently used.
    sessions.set(sessionId, memory);
    return memory;
  }
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
