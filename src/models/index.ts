/**
 * Language models: the contract, `callModel`, `resolveModel`, and the offline model, which needs no key. The contract
 * is that of AI SDK providers, so every AI SDK provider package works.
 */
export { callModel } from "./call-model.ts";
export type {
  LanguageModel,
  ModelCallOptions,
  ModelChoice,
  ModelListener,
  ModelMessage,
  ModelName,
  ModelRequest,
  ModelResult,
  ModelSettings,
} from "./model.ts";
export { listModels } from "./list-models.ts";
export { OfflineModel } from "./offline-model.ts";
export { resolveModel } from "./resolve-model.ts";
