/**
 * What is known of models by their names: which encoding counts their tokens, and how many they can read. A new model of a
 * known line is taken for one of its line; of any other a little is assumed. It speaks to nobody.
 */
import type { LanguageModel } from "../../models/model.ts";

export type EncodingName = "o200k_base" | "cl100k_base";

export interface ModelFamily {
  /** Undefined: its tokens are estimated. */
  readonly encoding: EncodingName | undefined;
  /** Tokens of one prompt at most. */
  readonly contextWindow: number;
  /** The answer has room of its own, beside the prompt. */
  readonly isInputOnly: boolean;
  /** False: nobody knows, and the window is a guess. */
  readonly isKnown: boolean;
}

/** For models that nobody wrote a row for. Local servers may be set to less: the option `contextWindow` says so. */
export const DEFAULT_CONTEXT_WINDOW = 32_768;

/** The first that fits. Where a provider limits the prompt apart from the answer, it is the prompt's limit. */
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

/** A server of one's own reads as much as it was set to, whatever model it has. */
const LOCAL = /ollama|local|lm-?studio|llama\.?cpp|llamafile/i;

export function findModelFamily({
  modelId,
  provider = "",
}: Pick<LanguageModel, "modelId"> & Partial<Pick<LanguageModel, "provider">>): ModelFamily {
  // Servers that have models of many makers put the maker before the name, and some a region before that.
  const name = modelId
    .slice(modelId.lastIndexOf("/") + 1)
    .toLowerCase()
    .replace(/^ft:|^(?:[a-z-]{2,8}\.)?(?:anthropic|openai|google)\./, "");
  const [, encoding, contextWindow, limits] = FAMILIES.find(([pattern]) => pattern.test(name)) ?? [];
  if (contextWindow === undefined || LOCAL.test(provider))
    return { encoding, contextWindow: DEFAULT_CONTEXT_WINDOW, isInputOnly: false, isKnown: false };
  return { encoding, contextWindow, isInputOnly: limits === "input", isKnown: true };
}
