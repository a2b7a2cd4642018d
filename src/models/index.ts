/**
 * Models: the contract, how one is called, how one is found by its name, and the one that works without a key. The
 * contract is that of the AI SDK's providers, so every package of that kind fits.
 */
export { callModel } from "./call-model.ts";
export { MODEL_CALL_DEFAULTS } from "./call-settings.ts";
export type {
  AssistantPart,
  FinishReason,
  LanguageModel,
  ModelCallOptions,
  ModelChoice,
  ModelListener,
  ModelMessage,
  ModelName,
  ModelRequest,
  ModelResult,
  ModelSettings,
  ModelTool,
  ModelToolCall,
  ModelUsage,
  ProviderOptions,
  ReasoningPart,
  TextPart,
  ToolCallPart,
  ToolResultPart,
} from "./model.ts";
export { OfflineModel, type OfflineModelOptions } from "./offline-model.ts";
export { resolveModel, type ResolveOptions } from "./resolve-model.ts";
