/**
 * Makes a compressor that summarises the oldest turns with the model. It holds, of each session, the latest summaries and
 * which results were shortened, so that a prompt which has grown by a message is compressed as the one before it was.
 *
 * Invariants: those of the contract; it asks for one summary at most per prompt, and two prompts of one session never ask
 * for the same; and whoever asks is told what cannot be made to fit.
 */
import { createCancelled } from "../../models/call-watch.ts";
import type { LanguageModel, ModelMessage } from "../../models/model.ts";
import { resolveModel } from "../../models/resolve-model.ts";
import { BoundedMap, LoomError } from "../../protocol/index.ts";
import { compressPrompt } from "./compress-prompt.ts";
import type { CompressionOptions } from "./compression-options.ts";
import { checkCompressionOptions, computeBudget } from "./compression-settings.ts";
import type { Compressor, FitEvent, FitOptions, FittedPrompt } from "./compressor.ts";
import { pinFacts } from "./pin-facts.ts";
import { boundTokens, PromptTokens } from "./prompt-tokens.ts";
import { SessionMemory } from "./session-memory.ts";
import { loadTokenCounter, type TokenCounter } from "./token-counter.ts";

/** Sessions that are remembered, of one scope: those used last. Of others, the log knows. */
const MAX_SESSIONS = 1000;

export function createCompressor(options: CompressionOptions = {}): Compressor {
  checkCompressionOptions(options);
  const memories = new Memories();
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
  let hasToldMissing = false;
  let calls = 0;
  const countCall = (): string => `summary.${++calls}`;

  return {
    fit: async (given, { onEvent, onError, createCallId = countCall, ...place }): Promise<FittedPrompt> => {
      const { signal } = place;
      const going = (): void => {
        if (signal.aborted) throw createCancelled(signal.reason);
      };
      going();
      const messages: readonly ModelMessage[] = pin(given.messages);
      const prompt = { ...given, messages };
      const budget = computeBudget(options, place.model, given.settings);
      const isWhole = place.hasLostBeginning !== true;
      // Most prompts are short: no tokenizer is loaded for them.
      if (isWhole && boundTokens(prompt) <= budget.limit) return { messages, events: [] };
      const tokens = await findTokens(place.model);
      await tokens.prepare(messages, signal);
      going();
      if (tokens.missing !== undefined && !hasToldMissing) {
        hasToldMissing = true;
        onError?.(createMissing(tokens.missing));
      }
      const size = tokens.countRest(prompt) + tokens.countMessages(messages);
      if (isWhole && size <= budget.limit) return { messages, events: [] };
      const events: FitEvent[] = [];
      const tell = (event: FitEvent): void | Promise<void> => {
        events.push(event);
        const told = onEvent?.(event);
        if (event.type === "llm_start") return told;
        // Nobody waits for the others: whoever is told sees to what goes wrong there.
        void Promise.resolve(told).catch(() => undefined);
      };
      const memory = memories.recall(place);
      const how = { tokens, budget, memory, options, findWriter, tell, createCallId };
      const fitted = await compressPrompt(prompt, { ...place, ...how });
      return { messages: fitted, events };
    },
  };
}

class Memories {
  readonly #scopes = new WeakMap<object, BoundedMap<SessionMemory>>();

  recall({ scope = this, sessionId }: Pick<FitOptions, "scope" | "sessionId">): SessionMemory {
    let sessions = this.#scopes.get(scope);
    if (sessions === undefined) this.#scopes.set(scope, (sessions = new BoundedMap(MAX_SESSIONS)));
    const memory = sessions.get(sessionId) ?? new SessionMemory();
    // The latest stands last.
    sessions.set(sessionId, memory);
    return memory;
  }
}

function createMissing(name: string): LoomError {
  const message = `Tokens are estimated: ${name} could not be loaded. To have them counted: npm install ${name}`;
  return new LoomError("missing_package", message, { package: name, stage: "compression" });
}
