/**
 * Shortens results of tools until a prompt fits: the last thing that can be done for it. What is shortened says so, keeps
 * its place and its call, and is shortened the same way when it is sent again. A result is known by what it is, not by
 * the id of its call: models give the same one again.
 */
import { createHash } from "node:crypto";
import type { ModelMessage, ToolResultPart } from "../../models/model.ts";
import { BoundedMap } from "../../protocol/index.ts";
import { readOutput, type PromptTokens } from "./prompt-tokens.ts";

/** Results that were shortened in one session; those used last. */
const MAX_SHORTENED = 1024;
/** Tokens that a result keeps in any case. */
const LEAST = 50;
/** The note that says so needs some, too. */
const NOTE_TOKENS = 30;

const keys = new WeakMap<ToolResultPart, string>();

export class ShortenedResults {
  /** The message that is sent instead, so that it is counted once. */
  readonly #sent = new WeakMap<ModelMessage, { readonly key: string; readonly message: ModelMessage }>();
  /** They are not shortened a second time. */
  readonly #written = new WeakSet<ModelMessage>();
  /** Characters that are kept of a result. */
  readonly #kept = new BoundedMap<number>(MAX_SHORTENED);

  /** The messages as they were sent before. */
  apply(messages: readonly ModelMessage[]): readonly ModelMessage[] {
    if (this.#kept.size === 0) return messages;
    return messages.map((message) => this.#applyTo(message));
  }

  #applyTo(message: ModelMessage): ModelMessage {
    if (message.role !== "tool" || this.#written.has(message)) return message;
    const lengths = message.content.map((part) => this.#recall(part));
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

  #recall(part: ToolResultPart): number | undefined {
    const key = keyOf(part);
    const length = this.#kept.get(key);
    if (length !== undefined) this.#kept.set(key, length);
    return length;
  }

  /** Tokens that could be saved with these messages at most. */
  measureGain(messages: readonly ModelMessage[], tokens: PromptTokens): number {
    return this.#list(messages, tokens).reduce((sum, { size }) => sum + Math.max(0, size - LEAST), 0);
  }

  /**
   * Shortens results of these messages so that they have so many tokens less: older ones first, of them the longest most,
   * and what was given last only where that is not enough. True if it could.
   */
  shorten(messages: readonly ModelMessage[], excess: number, tokens: PromptTokens): boolean {
    const newest = messages.findLastIndex(({ role }) => role === "tool");
    if (newest < 0) return false;
    const older = this.#list(messages.slice(0, newest), tokens);
    const saved = this.#shortenTo(older, excess);
    if (saved >= excess) return true;
    return this.#shortenTo(this.#list(messages.slice(newest, newest + 1), tokens), excess - saved) + saved > 0;
  }

  #list(messages: readonly ModelMessage[], tokens: PromptTokens): readonly Result[] {
    return messages
      .flatMap((message) => (message.role === "tool" && !this.#written.has(message) ? message.content : []))
      .map((part) => {
        const key = keyOf(part);
        const text = readOutput(part);
        const length = Math.min(text.length, this.#kept.get(key) ?? Infinity);
        return { key, length, size: tokens.countText(text.slice(0, length)) };
      });
  }

  /** Tokens that are saved, about. */
  #shortenTo(results: readonly Result[], excess: number): number {
    const level = findLevel(
      results.map(({ size }) => size),
      excess,
    );
    let saved = 0;
    for (const { key, length, size } of results) {
      if (size <= level) continue;
      const kept = Math.floor(length * Math.max(0, (level - NOTE_TOKENS) / size));
      if (kept >= length) continue;
      this.#kept.set(key, kept);
      saved += size - level;
    }
    return saved;
  }
}

interface Result {
  readonly key: string;
  readonly length: number;
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

/** The size that no result may be above, so that together they lose so much. */
function findLevel(sizes: readonly number[], excess: number): number {
  let lost = 0;
  let level = Infinity;
  const sorted = sizes.toSorted((a, b) => b - a);
  for (const [index, size] of sorted.entries()) {
    const next = Math.max(LEAST, sorted[index + 1] ?? LEAST);
    if (size <= LEAST) break;
    const above = index + 1;
    const gain = (size - next) * above;
    if (lost + gain >= excess) return Math.max(LEAST, size - Math.ceil((excess - lost) / above));
    lost += gain;
    level = next;
  }
  return level;
}

function shortenPart(part: ToolResultPart, length: number | undefined): ToolResultPart {
  const text = readOutput(part);
  if (length === undefined || length >= text.length) return part;
  const type = part.output.type === "error-text" ? "error-text" : "text";
  const value = `${text.slice(0, length).toWellFormed()}\n[cut: these are the first ${length} of ${text.length} characters; with all of them the prompt was too long]`;
  return { ...part, output: { type, value } };
}
