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
/** Of one text; the rest is estimated by what this much of it had. */
const MAX_COUNTED = 200_000;

/** A word before a mark or a space that the next word begins with: there, tokenizers part a text. */
const LAST_PART = /^[\s\S]*[\p{L}\p{N}](?=[^\r\n\p{L}\p{N}'’]\p{L})/u;

const ESTIMATE: TokenCounter = {
  countText: (text) => Math.ceil(estimateTokens(text) * ESTIMATE_MARGIN),
  margin: ESTIMATE_MARGIN,
};

type CountTokens = (text: string, options: { readonly disallowedSpecial: Set<string> }) => number;

const LOADERS: { readonly [name in EncodingName]: () => Promise<{ readonly countTokens: CountTokens }> } = {
  o200k_base: () => import("gpt-tokenizer/encoding/o200k_base"),
  cl100k_base: () => import("gpt-tokenizer/encoding/cl100k_base"),
};

/** One of each is enough: it holds tens of megabytes. */
const counters = new Map<EncodingName, Promise<TokenCounter>>();

export async function loadTokenCounter(model: Pick<LanguageModel, "modelId">): Promise<TokenCounter> {
  const { encoding } = findModelFamily(model);
  if (encoding === undefined) return ESTIMATE;
  let counter = counters.get(encoding);
  if (counter === undefined) counters.set(encoding, (counter = loadEncoding(LOADERS[encoding])));
  return counter;
}

/** Where the package is not there, the estimate has to do; whoever counts tells so. */
export async function loadEncoding(load: () => Promise<{ readonly countTokens: CountTokens }>): Promise<TokenCounter> {
  try {
    const { countTokens } = await load();
    // What looks like a special token of theirs is text here, as it is for the provider.
    const options = { disallowedSpecial: new Set<string>() };
    return { countText: (text) => countPieces(text, (piece) => countTokens(piece, options)), margin: 1 };
  } catch (error) {
    const { code } = error as { readonly code?: unknown };
    if (code !== "ERR_MODULE_NOT_FOUND" && code !== "MODULE_NOT_FOUND") throw error;
    return { ...ESTIMATE, missing: "gpt-tokenizer" };
  }
}

export function countPieces(text: string, count: (piece: string) => number): number {
  const end = Math.min(text.length, MAX_COUNTED);
  let tokens = 0;
  for (let from = 0; from < end;) {
    const piece = text.slice(from, Math.min(end, from + PIECE));
    const isLast = from + piece.length >= text.length;
    const length = isLast ? piece.length : (LAST_PART.exec(piece)?.[0].length ?? endOfCharacter(piece));
    tokens += count(piece.slice(0, length));
    from += length;
  }
  return Math.ceil(tokens * (text.length / Math.max(1, end)));
}

/** Half a character is none. */
function endOfCharacter(piece: string): number {
  const last = piece.charCodeAt(piece.length - 1);
  return piece.length > 1 && last >= 0xd800 && last <= 0xdbff ? piece.length - 1 : piece.length;
}
