/**
 * The answer text of a run. `ReplyText` collects it for dialects whose last frame does not contain it; `StreamedAnswer`
 * tracks how much was streamed, so that the rest of a reply can be sent.
 */

/** Maximum number of characters of all answers in one decoder. */
const MAX_REPLY_CHARACTERS = 16 * 1024 * 1024;

/** Shared by all answers of one decoder. */
export interface ReplyBudget {
  held: number;
}

/** Collects the text of an answer. Beyond the budget nothing is added and `overflowed` is true. */
export class ReplyText {
  readonly #budget: ReplyBudget;
  #text = "";
  overflowed = false;

  constructor(budget: ReplyBudget) {
    this.#budget = budget;
  }

  add(piece: string): void {
    this.overflowed ||= this.#budget.held + piece.length > MAX_REPLY_CHARACTERS;
    if (this.overflowed) return;
    this.#budget.held += piece.length;
    this.#text += piece;
  }

  replace(text: string): void {
    this.clear();
    this.add(text);
  }

  /** Releases the budget. */
  clear(): void {
    this.#budget.held -= this.#text.length;
    this.#text = "";
    this.overflowed = false;
  }

  toString(): string {
    return this.#text;
  }
}

const MAX_NODES = 10_000;
const MAX_TAIL = 64 * 1024;

/** Tracks the streamed answer of a run: which node runs contributed, and the end of the last one's text. */
export class StreamedAnswer {
  readonly #nodes = new Set<string>();
  #last: string | undefined;
  #tail = "";
  /** True if the tail is not the complete text of the last node run. */
  #cut = false;

  add(node: string | undefined, text: string): void {
    const key = node ?? "";
    if (key !== this.#last) {
      this.#last = key;
      this.#tail = "";
      this.#cut = this.#nodes.has(key);
    }
    if (this.#nodes.size < MAX_NODES) this.#nodes.add(key);
    this.#tail += text;
    if (this.#tail.length <= MAX_TAIL) return;
    this.#tail = this.#tail.slice(-MAX_TAIL / 2);
    this.#cut = true;
  }

  /**
   * Returns the part of the reply that still has to be sent: all of it if its node run streamed nothing or a different
   * text, the rest if only the beginning was streamed.
   */
  missing(node: string | undefined, reply: string): string {
    const spoke = node === undefined ? this.#nodes.size > 0 : this.#nodes.has(node);
    if (!spoke) return reply;
    if ((node !== undefined && node !== this.#last) || this.#tail.endsWith(reply) || this.#cut) return "";
    return reply.startsWith(this.#tail) ? reply.slice(this.#tail.length) : reply;
  }
}
