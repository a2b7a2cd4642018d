/**
 * Makes a compressor that summarises the oldest turns with the model. It holds, of each session, the latest summaries and
 * which results were shortened, so that a prompt which has grown by a message is compressed as the one before it was.
 *
 * Invariants: those of the contract; it asks for one summary at most per prompt, and two prompts of one session never ask
 * for the same; and it is told what cannot be made to fit.
 */
import { createCancelled } from "../../models/call-watch.ts";
import type { LanguageModel, ModelMessage } from "../../models/model.ts";
import { resolveModel } from "../../models/resolve-model.ts";
import { BoundedMap } from "../../protocol/index.ts";
import { compressPrompt } from "./compress-prompt.ts";
import type { CompressionOptions } from "./compression-options.ts";
import { checkCompressionOptions, computeBudget } from "./compression-settings.ts";
import type { Compressor, FittedPrompt } from "./compressor.ts";
import { pinFacts } from "./pin-facts.ts";
import { boundTokens, PromptTokens } from "./prompt-tokens.ts";
import { SessionMemory } from "./session-memory.ts";
import { loadTokenCounter, type TokenCounter } from "./token-counter.ts";

/** Sessions that are remembered; of others, the log knows. */
const MAX_SESSIONS = 1000;

export function createCompressor(options: CompressionOptions = {}): Compressor {
  checkCompressionOptions(options);
  const sessions = new BoundedMap<SessionMemory>(MAX_SESSIONS);
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

  return {
    fit: async (given, { signal, ...place }): Promise<FittedPrompt> => {
      const going = (): void => {
        if (signal.aborted) throw createCancelled(signal.reason);
      };
      going();
      const messages: readonly ModelMessage[] = pin(given.messages);
      const prompt = { ...given, messages };
      const budget = computeBudget(options, place.model, given.settings);
      // Most prompts are short: no tokenizer is loaded for them.
      if (boundTokens(prompt) <= budget.limit) return { messages, events: [] };
      const tokens = await findTokens(place.model);
      await tokens.prepare(messages, signal);
      going();
      if (tokens.countRest(prompt) + tokens.countMessages(messages) <= budget.limit) return { messages, events: [] };
      const memory = sessions.getOrCreate(place.sessionId, () => new SessionMemory());
      const fitted = await memory.inTurn(signal, () =>
        compressPrompt(prompt, { ...place, signal, tokens, budget, memory, options, findWriter }),
      );
      if (tokens.missing === undefined || hasToldMissing) return fitted;
      hasToldMissing = true;
      return { ...fitted, events: [describeMissing(tokens.missing), ...fitted.events] };
    },
  };
}

function describeMissing(name: string) {
  return {
    type: "error",
    message: `Tokens are estimated. Install ${name} to have them counted: npm install ${name}`,
    code: "missing_package",
    stage: "compression",
    recoverable: true,
  } as const;
}
