/**
 * The answer of a run, gathered from its pieces, for dialects whose last frame does not repeat it. Bounded: beyond the
 * limit nothing more is kept, and `overflowed` says so.
 */
const MAX_REPLY_CHARACTERS = 16 * 1024 * 1024;

export class ReplyText {
  #pieces: string[] = [];
  #length = 0;
  overflowed = false;

  add(piece: string): void {
    if (this.overflowed) return;
    this.#length += piece.length;
    if (this.#length > MAX_REPLY_CHARACTERS) this.overflowed = true;
    else this.#pieces.push(piece);
  }

  replace(text: string): void {
    this.#pieces = [];
    this.#length = 0;
    this.overflowed = false;
    this.add(text);
  }

  toString(): string {
    return this.#pieces.join("");
  }
}

const MAX_ANSWERED = 10_000;

/** The node runs of one run whose answer was streamed: the reply of another must still be sent. */
export class AnsweredNodes {
  readonly #nodes = new Set<string>();

  add(node: string | undefined): void {
    if (this.#nodes.size < MAX_ANSWERED) this.#nodes.add(node ?? "");
  }

  /** Whether the reply of this node run was streamed; of any, when it names none. */
  has(node: string | undefined): boolean {
    return node === undefined ? this.#nodes.size > 0 : this.#nodes.has(node);
  }
}
