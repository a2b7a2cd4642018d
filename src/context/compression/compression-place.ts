/** All that one prompt is compressed with: what the caller has said, what is known of the session, and whom to ask and to tell. */
import type { LanguageModel } from "../../models/model.ts";
import type { CompressionOptions } from "./compression-options.ts";
import type { Budget } from "./compression-settings.ts";
import type { FitEvent, FitOptions } from "./compressor.ts";
import type { PromptTokens } from "./prompt-tokens.ts";
import type { SessionMemory } from "./session-memory.ts";

export interface CompressionPlace extends Omit<FitOptions, "onEvent" | "onError" | "createCallId"> {
  readonly tokens: PromptTokens;
  readonly budget: Budget;
  readonly memory: SessionMemory;
  readonly options: CompressionOptions;
  readonly findWriter: (model: LanguageModel) => Promise<LanguageModel>;
  readonly tell: (event: FitEvent) => void | Promise<void>;
  readonly createCallId: () => string;
}
