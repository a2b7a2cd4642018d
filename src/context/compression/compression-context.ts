/**
 * Everything needed to compress one prompt: options, token budget, what is known about the session, and the event sink.
 */
import type { LanguageModel } from "../../models/model.ts";
import type { CompressionOptions } from "./compression-options.ts";
import type { Budget } from "./compression-settings.ts";
import type { FitEvent, FitOptions } from "./compressor.ts";
import type { PromptTokens } from "./prompt-tokens.ts";
import type { SessionMemory } from "./session-memory.ts";

export interface CompressionContext extends Omit<FitOptions, "onEvent" | "onError" | "createCallId"> {
  readonly tokens: PromptTokens;
  readonly budget: Budget;
  readonly memory: SessionMemory;
  readonly options: CompressionOptions;
  /** Returns the model that writes summaries. */
  readonly findWriter: (model: LanguageModel) => Promise<LanguageModel>;
  /** For `llm_start` the returned promise must be awaited. */
  readonly emit: (event: FitEvent) => void | Promise<void>;
  readonly createCallId: () => string;
}
