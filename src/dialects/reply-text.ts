/**
 * The answer of a run, gathered from its pieces, for dialects whose last frame does not repeat it. Bounded: beyond the
 * limit nothing more is kept, and `overflowed` says so.
 */
export const MAX_REPLY_CHARACTERS = 16 * 1024 * 1024;

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
