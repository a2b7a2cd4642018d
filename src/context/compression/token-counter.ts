/**
 * Counts the tokens of a text: with the tokenizer of the model family if there is one, otherwise with an estimate plus
 * a margin. The tokenizer is an optional package; only the encoding needed is loaded.
 *
 * Invariant: the cost is linear in the length of the text. The tokenizer is quadratic for input it cannot split, such
 * as a long run of spaces, so it gets short pieces, split where the tokenizer itself would split if possible.
 */
import type { LanguageModel } from "../../models/model.ts";
import { estimateTokens } from "./estimate-tokens.ts";
import { type EncodingName, findModelFamily } from "./model-family.ts";

/** Counts tokens for one model family. */
export interface TokenCounter {
  readonly countText: (text: string) => number;
  /** Factor by which counts are raised to be safe: 1.2 for estimates, 1 for exact counts. */
  readonly margin: number;
  /** The package needed for exact counts, if it is not installed. */
  readonly missing?: string;
}

/** Tokenizers of other vendors produce up to this many times the tokens of the one the estimate is based on. */
const ESTIMATE_MARGIN = 1.2;

/** Characters passed to the tokenizer at once. */
const PIECE = 128;
/** Longer texts are not counted in full but by samples spread over the text. */
const MAX_COUNTED = 400_000;
const SAMPLE = 2000;

/**
 * Matches up to the last position where a word is followed by a space or mark and another word. Tokenizers split there.
 */
const LAST_BOUNDARY = /^[\s\S]*[\p{L}\p{N}](?=[^\r\n\p{L}\p{N}'’]\p{L})/u;

const ESTIMATE: TokenCounter = {
  countText: (text) => Math.ceil(estimateTokens(text) * ESTIMATE_MARGIN),
  margin: ESTIMATE_MARGIN,
};

/** Used if the tokenizer of a known family cannot be loaded. */
const FALLBACK: TokenCounter = { ...ESTIMATE, missing: "gpt-tokenizer" };

type CountTokens = (text: string, options: { readonly disallowedSpecial: Set<string> }) => number;

const LOADERS: { readonly [name in EncodingName]: () => Promise<{ readonly countTokens: CountTokens }> } = {
  o200k_base: () => import("gpt-tokenizer/encoding/o200k_base"),
  cl100k_base: () => import("gpt-tokenizer/encoding/cl100k_base"),
};

/** Loaded encodings are shared, because each takes tens of megabytes. */
const counters = new Map<EncodingName, Promise<TokenCounter>>();

/**
 * Returns the token counter for a model. Loads the package `gpt-tokenizer` for OpenAI models; without it, and for all
 * other models, tokens are estimated.
 *
 * ```ts
 * const counter = await loadTokenCounter({ provider: "openai", modelId: "gpt-5" });
 * console.log(counter.countText("How many tokens?"));
 * ```
 */
export async function loadTokenCounter(
  model: Pick<LanguageModel, "modelId"> & Partial<Pick<LanguageModel, "provider">>,
): Promise<TokenCounter> {
  const { encoding } = findModelFamily(model);
  if (encoding === undefined) return ESTIMATE;
  let loading = counters.get(encoding);
  if (loading === undefined) counters.set(encoding, (loading = loadEncoding(LOADERS[encoding])));
  const counter = await loading;
  // The package may be installed the next time.
  if (counter.missing !== undefined && counters.get(encoding) === loading) counters.delete(encoding);
  return counter;
}

/** Loads an encoding. Returns an estimate with `missing` set if the package is missing or broken. */
export async function loadEncoding(load: () => Promise<{ readonly countTokens: CountTokens }>): Promise<TokenCounter> {
  try {
    const { countTokens } = await load();
    // Text that looks like a special token is counted as text, as providers do.
    const options = { disallowedSpecial: new Set<string>() };
    return { countText: (text) => countAll(text, (piece) => countTokens(piece, options)), margin: 1 };
  } catch {
    return FALLBACK;
  }
}

/** Counts a whole text, or samples of a very long one. */
export function countAll(text: string, count: (piece: string) => number): number {
  if (text.length <= MAX_COUNTED) return countPieces(text, count);
  const samples = MAX_COUNTED / SAMPLE;
  const step = text.length / samples;
  let tokens = 0;
  let read = 0;
  for (let index = 0; index < samples; index++) {
    // Vary the offset, so that samples of periodic text differ.
    const from = Math.floor((index + ((index * 0.618) % 1) * (1 - SAMPLE / step)) * step);
    const sample = text.slice(from, from + SAMPLE).toWellFormed();
    tokens += countPieces(sample, count);
    read += sample.length;
  }
  return Math.ceil(tokens * (text.length / read));
}

/** Counts a text in short pieces. */
export function countPieces(text: string, count: (piece: string) => number): number {
  let tokens = 0;
  for (let from = 0; from < text.length;) {
    const piece = text.slice(from, from + PIECE);
    const isLast = from + piece.length >= text.length;
    const length = isLast ? piece.length : (LAST_BOUNDARY.exec(piece)?.[0].length ?? endOfCharacter(piece));
    tokens += count(piece.slice(0, length));
    from += length;
  }
  return tokens;
}

/** Avoids splitting a surrogate pair. */
function endOfCharacter(piece: string): number {
  const last = piece.charCodeAt(piece.length - 1);
  return piece.length > 1 && last >= 0xd800 && last <= 0xdbff ? piece.length - 1 : piece.length;
}
