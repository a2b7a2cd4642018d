/** Defaults and validation of the options of a model call, and of the settings of a request. */
import {
  acceptInteger,
  acceptNumber,
  acceptNumberAbove,
  BOOLEAN_OPTION,
  OBJECT_OPTION,
  type OptionTable,
  type OtherNames,
  readOptions,
  TEXT_OPTION,
  TEXTS_OPTION,
  withDefault,
} from "../protocol/read-options.ts";
import type { ModelCallOptions, ModelSettings } from "./model.ts";

export type CallSettings = Omit<Required<ModelCallOptions>, "signal">;

/** `Infinity` switches a limit off, except for retries, which must be finite. Timeouts must be above 0. */
export const CALL_OPTIONS = {
  maxRetries: withDefault(acceptInteger(0), 3),
  retryMs: withDefault(acceptNumber(0), 500),
  maxRetryMs: withDefault(acceptNumber(0), 60_000),
  // Some providers send nothing before the first token, and reasoning can take minutes.
  connectTimeoutMs: withDefault(acceptNumberAbove(0), 120_000),
  idleTimeoutMs: withDefault(acceptNumberAbove(0), 120_000),
  // A short time would repeat refused requests.
  refusalMs: withDefault(acceptNumber(1000), 600_000),
  maxOutputCharacters: withDefault(acceptNumber(0), 4_000_000),
  maxToolCalls: withDefault(acceptNumber(0), 128),
} as const satisfies OptionTable<CallSettings>;

/** Fills in the defaults, also for options that are undefined. Throws `invalid_arguments` for an invalid option. */
export function resolveCallSettings({ signal: _signal, ...given }: ModelCallOptions): CallSettings {
  return readOptions(CALL_OPTIONS, given);
}

/** The values are limited by the provider. */
export const MODEL_SETTINGS: OptionTable<ModelSettings> = {
  maxOutputTokens: acceptInteger(1),
  temperature: acceptNumber(0),
  topP: acceptNumber(0, 1),
  topK: acceptNumber(0),
  stopSequences: TEXTS_OPTION,
  seed: acceptInteger(),
  reasoning: TEXT_OPTION,
  caching: BOOLEAN_OPTION,
  // Passed on to the package of the provider.
  providerOptions: OBJECT_OPTION,
};

/** Names of settings in other libraries. */
export const OTHER_SETTINGS: OtherNames = {
  maxTokens: "maxOutputTokens",
  max_tokens: "maxOutputTokens",
  stop: "stopSequences",
  reasoningEffort: "reasoning",
  reasoning_effort: "reasoning",
};
