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
  /** False: nobody knows, and the window is a guess. */
  readonly isKnown: boolean;
}

/** For models that nobody wrote a row for. Local servers may be set to less: the option `contextWindow` says so. */
export const DEFAULT_CONTEXT_WINDOW = 32_768;

/** The first that fits. Where a provider limits the prompt apart from the answer, it is the prompt's limit. */
const FAMILIES: readonly (readonly [RegExp, EncodingName | undefined, number])[] = [
  [/^gpt-5[\w.]*-chat/, "o200k_base", 128_000],
  [/^gpt-5/, "o200k_base", 272_000],
  [/^gpt-oss/, "o200k_base", 131_072],
  [/^gpt-4\.1/, "o200k_base", 1_047_576],
  [/^(?:chatgpt-4o|gpt-4o|gpt-4\.5)/, "o200k_base", 128_000],
  [/^o1-(?:mini|preview)/, "o200k_base", 128_000],
  [/^(?:o\d|codex-)/, "o200k_base", 200_000],
  [/^gpt-4-(?:turbo|0125|1106)/, "cl100k_base", 128_000],
  [/^gpt-4-32k/, "cl100k_base", 32_768],
  [/^gpt-4(?:-|$)/, "cl100k_base", 8192],
  [/^gpt-3\.5/, "cl100k_base", 16_385],
  [/^claude-/, undefined, 200_000],
  [/^gemini-/, undefined, 1_000_000],
];

export function findModelFamily({ modelId }: Pick<LanguageModel, "modelId">): ModelFamily {
  // Servers that have models of many makers put the maker before the name.
  const name = modelId.slice(modelId.lastIndexOf("/") + 1).toLowerCase();
  const [, encoding, contextWindow] = FAMILIES.find(([pattern]) => pattern.test(name)) ?? [];
  if (contextWindow === undefined) return { encoding, contextWindow: DEFAULT_CONTEXT_WINDOW, isKnown: false };
  return { encoding, contextWindow, isKnown: true };
}
