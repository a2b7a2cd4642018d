/** The options of compression with their defaults. A number that makes no sense is refused when the compressor is made. */
import { LoomError } from "../../protocol/index.ts";
import type { LanguageModel, ModelSettings } from "../../models/model.ts";
import type { CompressionOptions } from "./compression-options.ts";
import { findModelFamily } from "./model-family.ts";

export const COMPRESSION_DEFAULTS = { threshold: 0.8, target: 0.5, keepTurns: 2, timeoutMs: 60_000 } as const;

/** Of the context window, where nobody says how long a summary may be; and its bounds. */
const SUMMARY_SHARE = 0.1;
const MIN_SUMMARY_TOKENS = 64;
const MAX_SUMMARY_TOKENS = 2048;
/** Of the context window: a prompt has so much, however long the answer may be. */
const LEAST_PROMPT = 0.25;

/** What a prompt may have, in tokens. */
export interface Budget {
  readonly window: number;
  readonly isKnown: boolean;
  /** From here on a prompt is compressed. */
  readonly limit: number;
  readonly target: number;
  /** More cannot be sent. */
  readonly most: number;
  readonly maxSummaryTokens: number;
}

const isShare = (value: number): boolean => value > 0 && value <= 1;
const isCount = (value: number): boolean => Number.isSafeInteger(value) && value >= 1;

const RULES: readonly (readonly [keyof CompressionOptions, (value: number) => boolean, string])[] = [
  ["threshold", isShare, "a share above 0, up to 1"],
  ["target", isShare, "a share above 0, up to 1"],
  ["contextWindow", isCount, "a whole number from 1 on"],
  ["keepTurns", isCount, "a whole number from 1 on"],
  ["maxSummaryTokens", isCount, "a whole number from 1 on"],
  ["timeoutMs", (value) => value > 0, "a number above 0"],
];

/** Of the limit, at most: a prompt that was compressed is not compressed again with the next turn. */
const CLEARLY_BELOW = 0.8;

export function checkCompressionOptions(options: CompressionOptions): void {
  // Somebody who writes no types may give anything.
  if (typeof options !== "object" || (options as unknown) === null || Array.isArray(options))
    throw new LoomError("invalid_arguments", "The options of compression have to be an object.");
  for (const [name, isRight, what] of RULES) {
    const value = options[name];
    if (value === undefined || (typeof value === "number" && isRight(value))) continue;
    throw refuse(name, what);
  }
  const { pinned, model, threshold = COMPRESSION_DEFAULTS.threshold, target = 0 } = options;
  if (pinned !== undefined && !(Array.isArray(pinned) && pinned.every((fact) => typeof fact === "string")))
    throw refuse("pinned", "a list of texts");
  if (model !== undefined && typeof model !== "string" && (typeof model !== "object" || (model as unknown) === null))
    throw refuse("model", "a model or the choice of one");
  if (target > threshold) throw refuse("target", "no more than threshold");
}

function refuse(option: keyof CompressionOptions, what: string): LoomError {
  return new LoomError("invalid_arguments", `The option ${option} of compression has to be ${what}.`, { option });
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
  const most = Math.max(Math.floor(window * LEAST_PROMPT), window - output);
  const limit = Math.min(Math.floor(window * threshold), most);
  // Where the limit is lower than the threshold, the target is, too.
  const isDefault = options.target === undefined;
  const below = isDefault ? COMPRESSION_DEFAULTS.target / COMPRESSION_DEFAULTS.threshold : CLEARLY_BELOW;
  const share = Math.min(MAX_SUMMARY_TOKENS, Math.max(MIN_SUMMARY_TOKENS, Math.floor(window * SUMMARY_SHARE)));
  return {
    window,
    isKnown: options.contextWindow !== undefined || family.isKnown,
    limit,
    target: Math.min(Math.floor(window * target), Math.floor(limit * below)),
    most,
    // A summary that fills the prompt is none.
    maxSummaryTokens: Math.min(options.maxSummaryTokens ?? share, Math.max(1, Math.floor(limit / 4))),
  };
}
