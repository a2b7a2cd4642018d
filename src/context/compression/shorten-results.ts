/**
 * Cuts tool results until a prompt fits; the last resort. A cut result says so, stays with its tool call, and is cut in
 * the same way in later prompts. Results are identified by content, because models reuse call IDs.
 */
import { createHash } from "node:crypto";
import type { ModelMessage, ToolResultPart } from "../../models/model.ts";
import { BoundedMap } from "../../protocol/bounded-map.ts";
import { readOutput, type PromptTokens } from "./prompt-tokens.ts";

/** Cut results remembered per session; the least recently used are forgotten. */
const MAX_SHORTENED = 1024;
/** Tokens that every result keeps. */
const MIN_TOKENS = 50;
/** Tokens of the note about the cut. */
const NOTE_TOKENS = 30;

/** The hash of a result by its object, so that it is computed once. */
const keys = new WeakMap<ToolResultPart, string>();

export class ShortenedResults {
  /** The shortened copy of a message, so that its tokens are counted once. */
  readonly #sent = new WeakMap<ModelMessage, { readonly key: string; readonly message: ModelMessage }>();
  /** Shortened copies, which must not be shortened again. */
  readonly #written = new WeakSet<ModelMessage>();
  /** Characters kept of each result, by content hash. */
  readonly #keptLengths = new BoundedMap<number>(MAX_SHORTENED);

  /** Shortens the results that were shortened before. */
  apply(messages: readonly ModelMessage[]): readonly ModelMessage[] {
    if (this.#keptLengths.size === 0) return messages;
    return messages.map((message) => this.#applyTo(message));
  }

  #applyTo(message: ModelMessage): ModelMessage {
    if (message.role !== "tool" || this.#written.has(message)) return message;
    const lengths = message.content.map((part) => this.#getKeptLength(part));
    if (lengths.every((length) => length === undefined)) return message;
    const key = lengths.join();
    const known = this.#sent.get(message);
    if (known?.key === key) return known.message;
    const shortened: ModelMessage = {
      ...message,
      content: message.content.map((part, index) => shortenPart(part, lengths[index])),
    };
    this.#sent.set(message, { key, message: shortened });
    this.#written.add(shortened);
    return shortened;
  }

  #getKeptLength(part: ToolResultPart): number | undefined {
    const key = keyOf(part);
    const length = this.#keptLengths.get(key);
    // Setting it again makes it the most recently used one.
    if (length !== undefined) this.#keptLengths.set(key, length);
    return length;
  }

  /** Returns the maximum tokens that shortening these messages can save. */
  measureGain(messages: readonly ModelMessage[], tokens: PromptTokens): number {
    return this.#listResults(messages, tokens).reduce((sum, { size }) => sum + Math.max(0, size - MIN_TOKENS), 0);
  }

  /**
   * Shortens results to save `excess` tokens: older results first, the longest most, and the latest message only if
   * that is not enough. Returns false if nothing could be saved.
   */
  shorten(messages: readonly ModelMessage[], excess: number, tokens: PromptTokens): boolean {
    const newest = messages.findLastIndex(({ role }) => role === "tool");
    if (newest < 0) return false;
    const older = this.#listResults(messages.slice(0, newest), tokens);
    const saved = this.#shortenTo(older, excess);
    if (saved >= excess) return true;
    return this.#shortenTo(this.#listResults(messages.slice(newest, newest + 1), tokens), excess - saved) + saved > 0;
  }

  #listResults(messages: readonly ModelMessage[], tokens: PromptTokens): readonly ShortenableResult[] {
    return messages
      .flatMap((message) => (message.role === "tool" && !this.#written.has(message) ? message.content : []))
      .map((part) => {
        const key = keyOf(part);
        const text = readOutput(part);
        const length = Math.min(text.length, this.#keptLengths.get(key) ?? Infinity);
        return { key, length, size: tokens.countText(text.slice(0, length)) };
      });
  }

  /** Returns the approximate number of tokens saved. */
  #shortenTo(results: readonly ShortenableResult[], excess: number): number {
    const level = findLevel(
      results.map(({ size }) => size),
      excess,
    );
    let saved = 0;
    for (const { key, length, size } of results) {
      if (size <= level) continue;
      const kept = Math.floor(length * Math.max(0, (level - NOTE_TOKENS) / size));
      if (kept >= length) continue;
      this.#keptLengths.set(key, kept);
      saved += size - level;
    }
    return saved;
  }
}

interface ShortenableResult {
  /** Hash of the content. */
  readonly key: string;
  /** Characters that are kept now. */
  readonly length: number;
  /** Tokens of these characters. */
  readonly size: number;
}

function keyOf(part: ToolResultPart): string {
  let key = keys.get(part);
  if (key === undefined) {
    const hash = createHash("sha256").update(JSON.stringify([part.toolCallId, part.toolName, part.output]));
    keys.set(part, (key = hash.digest("base64url")));
  }
  return key;
}

/**
 * Finds the size to which all larger results must be cut to save `excess` tokens. Lowers the level from the largest size to
 * the next one until that saves enough.
 */
function findLevel(sizes: readonly number[], excess: number): number {
  let lost = 0;
  let level = Infinity;
  const sorted = sizes.toSorted((a, b) => b - a);
  for (const [index, size] of sorted.entries()) {
    const next = Math.max(MIN_TOKENS, sorted[index + 1] ?? MIN_TOKENS);
    if (size <= MIN_TOKENS) break;
    const above = index + 1;
    const gain = (size - next) * above;
    if (lost + gain >= excess) return Math.max(MIN_TOKENS, size - Math.ceil((excess - lost) / above));
    lost += gain;
    level = next;
  }
  return level;
}

function shortenPart(part: ToolResultPart, length: number | undefined): ToolResultPart {
  const text = readOutput(part);
  if (length === undefined || length >= text.length) return part;
  const type = part.output.type === "error-text" ? "error-text" : "text";
  const value = `${text.slice(0, length).toWellFormed()}\n[cut: first ${length} of ${text.length} characters; the full result does not fit into the prompt]`;
  return { ...part, output: { type, value } };
}
