/**
 * Shortens the longest results of tools until a prompt fits: the last thing that can be done for it. What is shortened
 * says so, keeps its place and its call, and is shortened the same way when it is sent again.
 */
import type { ModelMessage, ToolResultPart } from "../../models/model.ts";
import { BoundedMap } from "../../protocol/index.ts";
import { readOutput, type PromptTokens } from "./prompt-tokens.ts";

/** Results that were shortened in one session, by their call; the latest. */
const MAX_SHORTENED = 256;
/** Tokens that a result keeps in any case. */
const LEAST = 50;

export class ShortenedResults {
  /** The message that is sent instead, so that it is counted once. */
  readonly #sent = new WeakMap<ModelMessage, { readonly key: string; readonly message: ModelMessage }>();
  /** They are not shortened a second time. */
  readonly #written = new WeakSet<ModelMessage>();
  /** Characters that are kept of a call's result. */
  readonly #kept = new BoundedMap<number>(MAX_SHORTENED);

  get isEmpty(): boolean {
    return this.#kept.size === 0;
  }

  /** The messages as they were sent before. */
  apply(messages: readonly ModelMessage[]): readonly ModelMessage[] {
    if (this.isEmpty) return messages;
    return messages.map((message) => this.#applyTo(message));
  }

  #applyTo(message: ModelMessage): ModelMessage {
    if (message.role !== "tool" || this.#written.has(message)) return message;
    const lengths = message.content.map(({ toolCallId }) => this.#kept.get(toolCallId));
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

  /** Shortens results of these messages, the longest most, so that they have so many tokens less. True if it could. */
  shorten(messages: readonly ModelMessage[], excess: number, tokens: PromptTokens): boolean {
    const results = messages
      .flatMap((message) => (message.role === "tool" && !this.#written.has(message) ? message.content : []))
      .map((part) => {
        const text = readOutput(part);
        const length = Math.min(text.length, this.#kept.get(part.toolCallId) ?? Infinity);
        return { id: part.toolCallId, length, size: tokens.countText(text.slice(0, length)) };
      });
    const level = findLevel(
      results.map(({ size }) => size),
      excess,
    );
    let isShorter = false;
    for (const { id, length, size } of results) {
      if (size <= level) continue;
      // The note that says so needs a little, too, and characters differ in tokens.
      const kept = Math.floor(length * Math.max(0, (level - NOTE_TOKENS) / size) * 0.9);
      if (kept >= length) continue;
      this.#kept.set(id, kept);
      isShorter = true;
    }
    return isShorter;
  }
}

const NOTE_TOKENS = 30;

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
  const value = `${text.slice(0, length).toWellFormed()}\n[cut: ${length} of ${text.length} characters; the prompt was too long]`;
  return { ...part, output: { type, value } };
}
