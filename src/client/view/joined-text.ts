/**
 * A text joined from ordered pieces that can all still grow. The pieces are the leaves of a binary tree of joined
 * texts, so updating a piece takes logarithmic time. Texts are only appended, never read, so that the JavaScript engine
 * does not flatten them.
 */
import { cutText } from "../../protocol/cut-text.ts";

export interface JoinedPiece {
  text: string;
  /** Index of the piece; managed by JoinedText. */
  order: number;
  /** True if the piece is left out of the whole. */
  readonly isSuperseded: boolean;
}

export class JoinedText<P extends JoinedPiece> {
  pieces: P[] = [];
  readonly #limit: number;
  #length = 0;
  /** Tree of joined texts: node n joins nodes 2n and 2n + 1, node 1 is the whole text. Pieces start at #width. */
  #joined: string[] = [];
  #width = 1;
  /** Indexes of the pieces that grew since the last `show`. */
  readonly #stale = new Set<number>();
  /** True once text was cut off at the limit. */
  isCut = false;

  constructor(limit: number) {
    this.#limit = limit;
  }

  add(piece: P): void {
    piece.order = this.pieces.length;
    this.pieces.push(piece);
  }

  /** Appends to a piece. Returns the number of characters cut off. */
  append(piece: P, text: string): number {
    const part = cutText(text, this.#limit - this.#length);
    const lost = text.length - part.length;
    this.#length += part.length;
    if (lost > 0) {
      // Once something was cut off, add nothing more, so that the text has no hole.
      this.isCut = true;
      this.#length = this.#limit;
    }
    piece.text += part;
    if (this.#width > 1) this.#stale.add(piece.order);
    return lost;
  }

  /** Updates the whole after a piece was superseded. Its text still counts towards the limit. */
  leaveOut(piece: P): void {
    if (this.#width > 1) this.#stale.add(piece.order);
  }

  /**
   * Replaces the text of `piece` and removes the pieces in `gone`. Takes linear time. Returns the characters cut off.
   */
  replace(piece: P, text: string, gone: ReadonlySet<unknown>): number {
    const kept = this.pieces.filter((each) => !gone.has(each));
    this.pieces = [];
    this.#width = 1;
    this.#stale.clear();
    this.#length = 0;
    piece.text = "";
    for (const each of kept) {
      this.#length += each.text.length;
      this.add(each);
    }
    return this.append(piece, text);
  }

  show(): string {
    while (this.pieces.length > this.#width) {
      // Every node now covers other pieces.
      this.#width *= 2;
      this.#joined = [];
      for (const { order } of this.pieces) this.#stale.add(order);
    }
    if (this.#stale.size > 0) {
      for (const order of this.#stale)
        for (let at = (order + this.#width) >> 1; at > 0; at >>= 1)
          this.#joined[at] = this.#at(2 * at) + this.#at(2 * at + 1);
      this.#stale.clear();
    }
    return this.#at(1);
  }

  #at(index: number): string {
    if (index < this.#width) return this.#joined[index] ?? "";
    const piece = this.pieces[index - this.#width];
    return piece === undefined || piece.isSuperseded ? "" : piece.text;
  }
}
