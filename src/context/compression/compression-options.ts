/** Options of prompt compression: their defaults, their checks, and the token budget of a prompt. */
import { LoomError } from "../../protocol/index.ts";
import {
  acceptInteger,
  acceptNumberAbove,
  type OptionTable,
  readOptions,
  TEXTS_OPTION,
} from "../../protocol/read-options.ts";
import type { LanguageModel, ModelChoice, ModelSettings } from "../../models/model.ts";
import { findModelFamily } from "./model-family.ts";

/** Options of the agent option `compression`. */
export interface CompressionOptions {
  /** Share of the context window above which a prompt is compressed. Default: 0.8. */
  readonly threshold?: number;
  /** Share of the context window that a compressed prompt may fill. At most `threshold`. Default: 0.5. */
  readonly target?: number;
  /** Tokens the model can read. Default: known from the model name, otherwise 32,768. */
  readonly contextWindow?: number;
  /** Number of latest turns to keep unchanged if they fit, including the current one. Default: 2. */
  readonly keepTurns?: number;
  /** Facts included in every prompt, at the end of the system message. Default: none. */
  readonly pinned?: readonly string[];
  /** Model that writes the summary. Default: the model that reads the prompt. */
  readonly model?: ModelChoice;
  /**
   * Maximum tokens of the summary. Default: a tenth of the context window, between 64 and 2048. Never more than a
   * quarter of the prompt limit.
   */
  readonly maxSummaryTokens?: number;
  /**
   * Time limit for writing the summary, all parts together, in milliseconds. Default: 60,000. After that the turns are
   * dropped and the error `compression_failed` is reported.
   */
  readonly timeoutMs?: number;
}

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

export const COMPRESSION_OPTIONS: OptionTable<CompressionOptions> = {
  threshold: acceptNumberAbove(0, 1),
  target: acceptNumberAbove(0, 1),
  contextWindow: acceptInteger(1),
  keepTurns: acceptInteger(1),
  pinned: TEXTS_OPTION,
  model: { expected: "a model or a model name", accepts: isModelChoice },
  maxSummaryTokens: acceptInteger(1),
  timeoutMs: acceptNumberAbove(0),
};

/** Maximum target, as a share of the limit: a compressed prompt must not need compression again on the next turn. */
const MAX_TARGET_SHARE = 0.8;

/** Throws `invalid_arguments` for an option that is not valid. */
export function checkCompressionOptions(options: CompressionOptions): void {
  const { threshold = COMPRESSION_DEFAULTS.threshold, target = 0 } = readOptions(COMPRESSION_OPTIONS, options);
  if (target > threshold)
    throw new LoomError("invalid_arguments", "`target` must be at most `threshold`", { option: "target" });
}

function isModelChoice(value: unknown): boolean {
  return typeof value === "string" || (typeof value === "object" && value !== null);
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
