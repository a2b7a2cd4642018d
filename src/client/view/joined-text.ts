/**
 * One text made of pieces that lie in order and may all still grow. They are joined two by two, and those joined again, up
 * to the whole: what a piece that grew costs to show rises with the logarithm of their number, and a single piece is the
 * whole already. Texts are only ever appended to, never read, so that the engine need not lay them out.
 */
import { cutText } from "./turn-room.ts";

export interface TextPiece {
  text: string;
  /** Kept by the JoinedText alone: the place among the pieces. */
  order: number;
}

export class JoinedText<P extends TextPiece> {
  pieces: P[] = [];
  readonly #limit: number;
  #length = 0;
  /** At n, what lies at 2n and 2n + 1 joined; at 1 the whole. The pieces follow from #width on. */
  #joined: string[] = [];
  #width = 1;
  /** Places of the pieces that grew since the text was last shown. */
  readonly #stale = new Set<number>();
  /** Something did not fit: what is here is not all that was said. */
  isCut = false;

  constructor(limit: number) {
    this.#limit = limit;
  }

  add(piece: P): void {
    piece.order = this.pieces.length;
    this.pieces.push(piece);
  }

  /** How many characters did not fit. */
  append(piece: P, text: string): number {
    const part = cutText(text, this.#limit - this.#length);
    const lost = text.length - part.length;
    this.#length += part.length;
    if (lost > 0) {
      // What was cut once gets nothing more, or the text would have a hole.
      this.isCut = true;
      this.#length = this.#limit;
    }
    piece.text += part;
    if (this.#width > 1) this.#stale.add(piece.order);
    return lost;
  }

  /** Gives `piece` another text and takes `gone` out. Costs all pieces: for what happens once. */
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
      // Each then stands for other pieces than before.
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

  #at(place: number): string {
    return (place < this.#width ? this.#joined[place] : this.pieces[place - this.#width]?.text) ?? "";
  }
}
