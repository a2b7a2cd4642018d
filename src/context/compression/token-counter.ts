/**
 * Counts the tokens of a text as a model does: with the tokenizer of its family where there is one, else by an estimate
 * with a margin. The tokenizer is an optional package, and only the one encoding that is needed is loaded.
 *
 * Invariant: the cost is linear in the text. The tokenizer's own is quadratic in what it cannot part, such as a long run
 * of spaces or of one letter; so it is given short pieces, parted where it would part them itself wherever that is possible.
 */
import type { LanguageModel } from "../../models/model.ts";
import { estimateTokens } from "./estimate-tokens.ts";
import { type EncodingName, findModelFamily } from "./model-family.ts";

export interface TokenCounter {
  readonly countText: (text: string) => number;
  /** How much an estimate is above what it is an estimate of; 1 where tokens are counted. */
  readonly margin: number;
  /** The package that would count them, and is not installed. */
  readonly missing?: string;
}

/** Tokenizers of other makers give up to so much more than the one the estimate was made by. */
const ESTIMATE_MARGIN = 1.2;

/** Characters the tokenizer is given at once. */
const PIECE = 128;
/** Of one text: of a longer one, samples are counted that lie all over it. */
const MAX_COUNTED = 400_000;
const SAMPLE = 2000;

/** A word before a mark or a space that the next word begins with: there, tokenizers part a text. */
const LAST_PART = /^[\s\S]*[\p{L}\p{N}](?=[^\r\n\p{L}\p{N}'’]\p{L})/u;

const ESTIMATE: TokenCounter = {
  countText: (text) => Math.ceil(estimateTokens(text) * ESTIMATE_MARGIN),
  margin: ESTIMATE_MARGIN,
};

/** For a family whose tokenizer cannot be loaded. */
const UNCOUNTED: TokenCounter = { ...ESTIMATE, missing: "gpt-tokenizer" };

type CountTokens = (text: string, options: { readonly disallowedSpecial: Set<string> }) => number;

const LOADERS: { readonly [name in EncodingName]: () => Promise<{ readonly countTokens: CountTokens }> } = {
  o200k_base: () => import("gpt-tokenizer/encoding/o200k_base"),
  cl100k_base: () => import("gpt-tokenizer/encoding/cl100k_base"),
};

/** One of each is enough: it holds tens of megabytes. */
const counters = new Map<EncodingName, Promise<TokenCounter>>();

export async function loadTokenCounter(
  model: Pick<LanguageModel, "modelId"> & Partial<Pick<LanguageModel, "provider">>,
): Promise<TokenCounter> {
  const { encoding } = findModelFamily(model);
  if (encoding === undefined) return ESTIMATE;
  let loading = counters.get(encoding);
  if (loading === undefined) counters.set(encoding, (loading = loadEncoding(LOADERS[encoding])));
  const counter = await loading;
  // What could not be loaded may be there the next time.
  if (counter.missing !== undefined && counters.get(encoding) === loading) counters.delete(encoding);
  return counter;
}

/** Where the package is not there, or does not work, the estimate has to do; whoever counts tells so. */
export async function loadEncoding(load: () => Promise<{ readonly countTokens: CountTokens }>): Promise<TokenCounter> {
  try {
    const { countTokens } = await load();
    // What looks like a special token of theirs is text here, as it is for the provider.
    const options = { disallowedSpecial: new Set<string>() };
    return { countText: (text) => countAll(text, (piece) => countTokens(piece, options)), margin: 1 };
  } catch {
    return UNCOUNTED;
  }
}

/** All of a text, or of a very long one as much as can be counted in a moment, from all over it. */
export function countAll(text: string, count: (piece: string) => number): number {
  if (text.length <= MAX_COUNTED) return countPieces(text, count);
  const samples = MAX_COUNTED / SAMPLE;
  const step = text.length / samples;
  let tokens = 0;
  let read = 0;
  for (let index = 0; index < samples; index++) {
    // Not always at the same place of what is repeated.
    const from = Math.floor((index + ((index * 0.618) % 1) * (1 - SAMPLE / step)) * step);
    const sample = text.slice(from, from + SAMPLE).toWellFormed();
    tokens += countPieces(sample, count);
    read += sample.length;
  }
  return Math.ceil(tokens * (text.length / read));
}

export function countPieces(text: string, count: (piece: string) => number): number {
  let tokens = 0;
  for (let from = 0; from < text.length;) {
    const piece = text.slice(from, from + PIECE);
    const isLast = from + piece.length >= text.length;
    const length = isLast ? piece.length : (LAST_PART.exec(piece)?.[0].length ?? endOfCharacter(piece));
    tokens += count(piece.slice(0, length));
    from += length;
  }
  return tokens;
}

/** Half a character is none. */
function endOfCharacter(piece: string): number {
  const last = piece.charCodeAt(piece.length - 1);
  return piece.length > 1 && last >= 0xd800 && last <= 0xdbff ? piece.length - 1 : piece.length;
}
