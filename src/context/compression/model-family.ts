/**
 * Looks up the tokenizer encoding and the context window of a model by its name. An unknown model of a known line gets
 * the values of that line; any other model gets a small default window.
 */
import type { LanguageModel } from "../../models/model.ts";

export type EncodingName = "o200k_base" | "cl100k_base";

export interface ModelFamily {
  /** Undefined if no tokenizer is known; tokens are then estimated. */
  readonly encoding: EncodingName | undefined;
  /** Maximum tokens of a prompt. */
  readonly contextWindow: number;
  /** The answer does not count towards the context window. */
  readonly isInputOnly: boolean;
  /** False if the context window is a guess. */
  readonly isKnown: boolean;
}

/** Context window of unknown models. A local server may be configured for less; set the option `contextWindow` then. */
export const DEFAULT_CONTEXT_WINDOW = 32_768;

/** The first match wins. If a provider limits prompt and answer separately, this is the limit of the prompt. */
const FAMILIES: readonly (readonly [RegExp, EncodingName | undefined, number, "input"?])[] = [
  [/^gpt-5[\w.]*-chat/, "o200k_base", 128_000],
  [/^gpt-5/, "o200k_base", 272_000, "input"],
  [/^gpt-oss/, "o200k_base", 131_072],
  [/^gpt-4\.1/, "o200k_base", 1_047_576],
  [/^(?:chatgpt-4o|gpt-4o|gpt-4\.5)/, "o200k_base", 128_000],
  [/^o1-(?:mini|preview)/, "o200k_base", 128_000],
  [/^(?:o\d|codex-)/, "o200k_base", 200_000],
  [/^gpt-4-(?:turbo|0125|1106|vision)/, "cl100k_base", 128_000],
  [/^gpt-4-32k/, "cl100k_base", 32_768],
  [/^gpt-4(?:-|$)/, "cl100k_base", 8192],
  [/^gpt-3\.5-turbo-(?:instruct|0301|0613)/, "cl100k_base", 4096],
  [/^gpt-3\.5/, "cl100k_base", 16_385],
  [/^claude-(?:2\.0|instant)/, undefined, 100_000],
  [/^claude-/, undefined, 200_000],
  [/^gemini-(?:1\.0|pro(?:-vision)?$)/, undefined, 30_720, "input"],
  [/^gemini-.*(?:image|tts|live|audio)/, undefined, 32_768, "input"],
  [/^gemini-/, undefined, 1_000_000, "input"],
];

/** A self-hosted server has its own context window, whatever model it runs. */
const LOCAL = /ollama|local|lm-?studio|llama\.?cpp|llamafile/i;

export function findModelFamily({
  modelId,
  provider = "",
}: Pick<LanguageModel, "modelId"> & Partial<Pick<LanguageModel, "provider">>): ModelFamily {
  // Gateways prefix the model name with its vendor, and some with a region.
  const name = modelId
    .slice(modelId.lastIndexOf("/") + 1)
    .toLowerCase()
    .replace(/^ft:|^(?:[a-z-]{2,8}\.)?(?:anthropic|openai|google)\./, "");
  const [, encoding, contextWindow, limits] = FAMILIES.find(([pattern]) => pattern.test(name)) ?? [];
  if (contextWindow === undefined || LOCAL.test(provider))
    return { encoding, contextWindow: DEFAULT_CONTEXT_WINDOW, isInputOnly: false, isKnown: false };
  return { encoding, contextWindow, isInputOnly: limits === "input", isKnown: true };
}
