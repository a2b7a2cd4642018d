/**
 * Reasoning that a model writes into its text, between `<think>` and `</think>`. Several open models do this when their
 * server does not separate the two.
 */
import type { StreamPart } from "./stream-part.ts";

const OPENING = /^<(think|thinking|reasoning)>/i;
const ANY_TAG = /<(\/?)(think|thinking|reasoning)>/gi;
const TAGS = ["think", "thinking", "reasoning"] as const;
/** Characters of the longest tag. */
const MAX_TAG = "</reasoning>".length;

/** Removes reasoning from a complete text. A tag that is not opened, or not closed, reaches to the edge of the text. */
export function removeThinking(text: string): string {
  let kept = "";
  let from = 0;
  let open: string | undefined;
  for (const { 0: tag, 1: slash, 2: name = "", index } of text.matchAll(ANY_TAG)) {
    const isClosing = slash === "/";
    if (open !== undefined) {
      if (!isClosing || name.toLowerCase() !== open) continue;
      open = undefined;
    } else if (isClosing) {
      // Some chat templates contain the opening tag, so that the model writes only the closing one.
      kept = "";
    } else {
      kept += text.slice(from, index);
      open = name.toLowerCase();
    }
    from = index + tag.length;
  }
  return open === undefined ? kept + text.slice(from) : kept;
}

/** A piece of text, or of the reasoning inside it. */
export interface TaggedPiece {
  readonly type: "text" | "reasoning";
  readonly delta: string;
}

/**
 * Separates the reasoning at the beginning of a streamed text. Later tags stay, because an answer may be about them. A
 * text that does not begin with a tag passes unchanged.
 */
export class ThinkTags {
  #state: "start" | "inside" | "after" | "text" = "start";
  #held = "";
  #name = "";

  /** True if every further delta is plain text. */
  get isPassing(): boolean {
    return this.#state === "text";
  }

  /** Returns the pieces that are certain so far. */
  split(delta: string): readonly TaggedPiece[] {
    if (this.#state === "text") return [{ type: "text", delta }];
    this.#held += delta;
    if (this.#state === "start") {
      const held = this.#held.trimStart();
      const opening = OPENING.exec(held);
      if (opening !== null) {
        this.#state = "inside";
        this.#name = opening[1] ?? "";
        this.#held = held.slice(opening[0].length);
      } else if (!isPrefixOfTag(held)) return this.#pass();
      else return [];
    }
    const pieces: TaggedPiece[] = [];
    if (this.#state === "inside") {
      const close = `</${this.#name.toLowerCase()}>`;
      const at = this.#held.toLowerCase().indexOf(close);
      const end = at < 0 ? Math.max(0, this.#held.length - MAX_TAG) : at;
      if (end > 0) pieces.push({ type: "reasoning", delta: this.#held.slice(0, end) });
      this.#held = this.#held.slice(at < 0 ? end : end + close.length);
      if (at < 0) return pieces;
      this.#state = "after";
    }
    // Line breaks between the reasoning and the text belong to neither.
    this.#held = this.#held.trimStart();
    return this.#held === "" ? pieces : [...pieces, ...this.#pass()];
  }

  /** Returns what was held back. Call it when the text has ended. */
  end(): readonly TaggedPiece[] {
    const delta = this.#held;
    const type = this.#state === "inside" ? "reasoning" : "text";
    this.#held = "";
    this.#state = "start";
    return delta === "" ? [] : [{ type, delta }];
  }

  #pass(): readonly TaggedPiece[] {
    const delta = this.#held;
    this.#held = "";
    this.#state = "text";
    return [{ type: "text", delta }];
  }
}

function isPrefixOfTag(text: string): boolean {
  const lower = text.toLowerCase();
  return TAGS.some((name) => `<${name}>`.startsWith(lower));
}

/** Parts before which held text must be written. */
const ENDS: ReadonlySet<string> = new Set(["text-end", "tool-input-start", "tool-call", "finish"]);

/** Returns the parts to process instead of this one, with reasoning separated from text. */
export function splitPart(tags: ThinkTags, part: StreamPart): readonly StreamPart[] {
  // A malformed part is reported by the answer.
  const { type, id, delta, providerMetadata } = (part ?? {}) as Partial<StreamPart>;
  const toPart = (piece: TaggedPiece): StreamPart =>
    piece.type === "text"
      ? { type: "text-delta", ...(id === undefined ? {} : { id }), delta: piece.delta }
      : { type: "reasoning-delta", id: "think-tags", delta: piece.delta };
  // Reasoning comes before the text block, so the block begins with its first delta.
  if (type === "text-start" && providerMetadata === undefined) return [];
  if (type === "text-delta" && typeof delta === "string" && providerMetadata === undefined)
    return tags.split(delta).map(toPart);
  return type !== undefined && ENDS.has(type) ? [...tags.end().map(toPart), part] : [part];
}
