/** Validates the compression options, applies their defaults and computes the token budget of a prompt. */
import { LoomError } from "../../protocol/index.ts";
import type { LanguageModel, ModelSettings } from "../../models/model.ts";
import type { CompressionOptions } from "./compression-options.ts";
import { findModelFamily } from "./model-family.ts";

export const COMPRESSION_DEFAULTS = { threshold: 0.8, target: 0.5, keepTurns: 2, timeoutMs: 60_000 } as const;

/** Default length of a summary, as a share of the context window, and its bounds. */
const SUMMARY_SHARE = 0.1;
const MIN_SUMMARY_TOKENS = 64;
const MAX_SUMMARY_TOKENS = 2048;
/** Share of the context window always available to the prompt, whatever `maxOutputTokens` is. */
const MIN_PROMPT_SHARE = 0.25;

/** Token limits of one prompt. */
export interface Budget {
  readonly window: number;
  /** False if the context window is a guess. */
  readonly isKnown: boolean;
  /** A larger prompt is compressed. */
  readonly limit: number;
  /** A compressed prompt should have at most this size. */
  readonly target: number;
  /** A larger prompt cannot be sent. */
  readonly maximum: number;
  readonly maxSummaryTokens: number;
}

const isShare = (value: number): boolean => value > 0 && value <= 1;
const isCount = (value: number): boolean => Number.isSafeInteger(value) && value >= 1;

const RULES: readonly (readonly [keyof CompressionOptions, (value: number) => boolean, string])[] = [
  ["threshold", isShare, "a number above 0 and at most 1"],
  ["target", isShare, "a number above 0 and at most 1"],
  ["contextWindow", isCount, "a positive integer"],
  ["keepTurns", isCount, "a positive integer"],
  ["maxSummaryTokens", isCount, "a positive integer"],
  ["timeoutMs", (value) => value > 0, "a number above 0"],
];

/** Maximum target, as a share of the limit: a compressed prompt must not need compression again on the next turn. */
const MAX_TARGET_SHARE = 0.8;

/** Throws `invalid_arguments` for an option that is not valid. */
export function checkCompressionOptions(options: CompressionOptions): void {
  // Callers without type checking can pass anything.
  if (typeof options !== "object" || (options as unknown) === null || Array.isArray(options))
    throw new LoomError("invalid_arguments", "The compression options must be an object");
  for (const [name, isRight, what] of RULES) {
    const value = options[name];
    if (value === undefined || (typeof value === "number" && isRight(value))) continue;
    throw createOptionError(name, what);
  }
  const { pinned, model, threshold = COMPRESSION_DEFAULTS.threshold, target = 0 } = options;
  if (pinned !== undefined && !(Array.isArray(pinned) && pinned.every((fact) => typeof fact === "string")))
    throw createOptionError("pinned", "an array of strings");
  if (model !== undefined && typeof model !== "string" && (typeof model !== "object" || (model as unknown) === null))
    throw createOptionError("model", "a model or a model name");
  if (target > threshold) throw createOptionError("target", "at most `threshold`");
}

function createOptionError(option: keyof CompressionOptions, what: string): LoomError {
  return new LoomError("invalid_arguments", `The compression option \`${option}\` must be ${what}`, { option });
}

export function computeBudget(
  options: CompressionOptions,
  model: LanguageModel,
  settings: ModelSettings | undefined,
): Budget {
  const family = findModelFamily(model);
  const window = options.contextWindow ?? family.contextWindow;
  const { threshold = COMPRESSION_DEFAULTS.threshold, target = COMPRESSION_DEFAULTS.target } = options;
  const isShared = options.contextWindow !== undefined || !family.isInputOnly;
  const output = isShared ? (settings?.maxOutputTokens ?? 0) : 0;
  const maximum = Math.max(Math.floor(window * MIN_PROMPT_SHARE), window - output);
  const limit = Math.min(Math.floor(window * threshold), maximum);
  // If the output tokens lower the limit, lower the target with it.
  const isDefault = options.target === undefined;
  const below = isDefault ? COMPRESSION_DEFAULTS.target / COMPRESSION_DEFAULTS.threshold : MAX_TARGET_SHARE;
  const share = Math.min(MAX_SUMMARY_TOKENS, Math.max(MIN_SUMMARY_TOKENS, Math.floor(window * SUMMARY_SHARE)));
  return {
    window,
    isKnown: options.contextWindow !== undefined || family.isKnown,
    limit,
    target: Math.min(Math.floor(window * target), Math.floor(limit * below)),
    maximum,
    // A summary must not fill the prompt.
    maxSummaryTokens: Math.min(options.maxSummaryTokens ?? share, Math.max(1, Math.floor(limit / 4))),
  };
}
