/**
 * The answer of a run: gathered from its pieces, for dialects whose last frame does not repeat it, and remembered as far
 * as it was streamed, so that what is missing of a reply can still be sent.
 */

/** Characters of answers one decoder holds, over all requests that are going. */
const MAX_REPLY_CHARACTERS = 16 * 1024 * 1024;

/** What all answers of one decoder share. */
export interface ReplyBudget {
  held: number;
}

/** An answer as it is gathered. Beyond the budget nothing more is kept, and `overflowed` says so. */
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

  /** Gives back what it held. */
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

/** The answer of one run as it was streamed: by which node runs, and how the last of them ended. */
export class StreamedAnswer {
  readonly #nodes = new Set<string>();
  #last: string | undefined;
  #tail = "";
  /** The tail is not all that the last node run said. */
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
   * What of the reply is still to be sent: all of it where its node run streamed nothing, or something else; the rest
   * where only its beginning was streamed.
   */
  missing(node: string | undefined, reply: string): string {
    const spoke = node === undefined ? this.#nodes.size > 0 : this.#nodes.has(node);
    if (!spoke) return reply;
    if ((node !== undefined && node !== this.#last) || this.#tail.endsWith(reply) || this.#cut) return "";
    return reply.startsWith(this.#tail) ? reply.slice(this.#tail.length) : reply;
  }
}
