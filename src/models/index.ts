/**
 * Language models: the contract, `callModel`, `resolveModel`, and the offline model, which needs no key. The contract
 * is that of AI SDK providers, so every AI SDK provider package works.
 */
export { callModel } from "./call-model.ts";
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
  ModelTextPart,
  ToolCallPart,
  ToolResultPart,
} from "./model.ts";
export { listModels, type ListModelsOptions } from "./list-models.ts";
export { OfflineModel, type OfflineModelOptions } from "./offline-model.ts";
export { resolveModel, type ResolveOptions } from "./resolve-model.ts";
