/**
 * Bytes to lines, for both framings. A line ends with LF, CRLF or a lone CR; a BOM at the very start is dropped.
 *
 * Each chunk is cut at its last line end, in bytes; what is complete is decoded in one call and split as text,
 * what is not is carried over. The carry is one buffer that doubles, so a line that comes byte by byte costs
 * linear time and no more memory than twice its length, within the limit.
 *
 * State between two chunks:
 *
 *   bom       bytes of a BOM seen so far at the start of the stream, or "past" it
 *   afterCr   the last byte was CR: a LF that follows belongs to it and ends no line of its own
 *   carry     the unfinished line, or `dropping` if it was already too long and is being thrown away
 */
import { decodeLines, decodeUtf8 } from "./decode-utf8.ts";
import { resolveMaxLineBytes, type FramingFault, type FramingOptions } from "./frame.ts";

/** Who takes the lines. Called in the order of the lines, once for each: either `line` or `fault`. */
export interface LineSink {
  line(text: string, number: number): void;
  fault(reason: LineFault, number: number, detail: string): void;
}

export type LineFault = Exclude<FramingFault, "unfinished_event">;

const LF = 0x0a;
const CR = 0x0d;
const BOM = Uint8Array.of(0xef, 0xbb, 0xbf);
const PIECE_BYTES = 64 * 1024;
const NO_BYTES = new Uint8Array(0);

export class LineSplitter {
  readonly #sink: LineSink;
  readonly #maxLineBytes: number;
  readonly #pieceBytes: number;
  #number = 1;
  #bom: number | "past" = 0;
  #afterCr = false;
  #carry: Uint8Array = NO_BYTES;
  #carried = 0;
  #dropping = false;

  constructor(sink: LineSink, options: FramingOptions = {}) {
    this.#sink = sink;
    this.#maxLineBytes = resolveMaxLineBytes(options);
    // A piece is never longer than a line may be, so only a carried line can be too long: one place to check.
    // It also bounds the text that each line, being a slice of it, keeps alive.
    this.#pieceBytes = Math.min(PIECE_BYTES, this.#maxLineBytes);
  }

  push(chunk: Uint8Array): void {
    let from = this.#bom === "past" ? 0 : this.#skipBom(chunk, this.#bom);
    if (from === 0 && chunk.length <= this.#pieceBytes) {
      this.#read(chunk);
      return;
    }
    for (; from < chunk.length; from += this.#pieceBytes) {
      this.#read(chunk.subarray(from, from + this.#pieceBytes));
    }
  }

  /** The source has ended: a last line without a line end is a line too. */
  end(): void {
    this.#giveUpBom();
    if (this.#carried > 0 || this.#dropping) this.#finishCarried();
    this.#afterCr = false;
  }

  /** Where the text starts in the chunk. A BOM may come in three chunks, or turn out not to be one. */
  #skipBom(chunk: Uint8Array, seen: number): number {
    let from = 0;
    while (from < chunk.length && seen < BOM.length && chunk[from] === BOM[seen]) {
      from++;
      seen++;
    }
    if (seen === BOM.length) {
      this.#bom = "past";
      return from;
    }
    if (from === chunk.length) {
      this.#bom = seen;
      return from;
    }
    this.#giveUpBom();
    return 0;
  }

  /** What looked like the start of a BOM in earlier chunks was text (or is not UTF-8: the line will tell). */
  #giveUpBom(): void {
    const seen = this.#bom;
    this.#bom = "past";
    if (seen !== "past" && seen > 0) this.#keep(BOM.subarray(0, seen));
  }

  #read(piece: Uint8Array): void {
    if (piece.length === 0) return;
    let from = 0;
    if (this.#afterCr) {
      this.#afterCr = false;
      if (piece[0] === LF) from = 1;
    }
    if (this.#carried > 0 || this.#dropping) {
      const end = findLineEnd(piece, from);
      this.#keep(piece.subarray(from, end));
      if (end === piece.length) return;
      this.#finishCarried();
      from = passLineEnd(piece, end);
    }
    const cut = findLastCut(piece, from);
    if (cut > from) this.#emitLines(piece.subarray(from, cut));
    if (cut < piece.length) this.#keep(piece.subarray(cut));
    else this.#afterCr = piece[cut - 1] === CR;
  }

  /** Adds to the unfinished line. Copies, for the caller may reuse its buffer. */
  #keep(bytes: Uint8Array): void {
    if (this.#dropping) return;
    const size = this.#carried + bytes.length;
    if (size > this.#maxLineBytes) {
      this.#dropping = true;
      this.#carried = 0;
      this.#carry = NO_BYTES;
      this.#sink.fault("line_too_long", this.#number, `longer than ${this.#maxLineBytes} bytes`);
      return;
    }
    if (size > this.#carry.length) {
      const grown = new Uint8Array(Math.min(this.#maxLineBytes, Math.max(size, 2 * this.#carry.length, 1024)));
      grown.set(this.#carry.subarray(0, this.#carried));
      this.#carry = grown;
    }
    this.#carry.set(bytes, this.#carried);
    this.#carried = size;
  }

  #finishCarried(): void {
    if (this.#dropping) {
      this.#dropping = false;
      this.#number++;
      return;
    }
    const line = this.#carry.subarray(0, this.#carried);
    this.#carried = 0;
    // One huge line must not hold its memory for the rest of a long stream.
    if (this.#carry.length > PIECE_BYTES) this.#carry = NO_BYTES;
    this.#emitLine(line);
  }

  #emitLine(bytes: Uint8Array): void {
    const text = decodeUtf8(bytes);
    if (text === undefined) this.#sink.fault("invalid_utf8", this.#number++, "not valid UTF-8");
    else this.#sink.line(text, this.#number++);
  }

  /** `bytes` are whole lines, the last line end included. */
  #emitLines(bytes: Uint8Array): void {
    const text = decodeLines(bytes);
    if (text === undefined) this.#emitOneByOne(bytes);
    else if (text.includes("\r")) this.#emitMixed(text);
    else {
      let start = 0;
      for (let end = text.indexOf("\n"); end !== -1; end = text.indexOf("\n", start)) {
        this.#sink.line(text.slice(start, end), this.#number++);
        start = end + 1;
      }
    }
  }

  #emitMixed(text: string): void {
    // Each kind of line end is searched again only once it was passed: looking for both from every line start
    // would be quadratic where one of them is rare.
    let lf = text.indexOf("\n");
    let cr = text.indexOf("\r");
    let start = 0;
    while (start < text.length) {
      if (lf !== -1 && lf < start) lf = text.indexOf("\n", start);
      if (cr !== -1 && cr < start) cr = text.indexOf("\r", start);
      const endsWithCr = cr !== -1 && (lf === -1 || cr < lf);
      const end = endsWithCr ? cr : lf;
      this.#sink.line(text.slice(start, end), this.#number++);
      start = endsWithCr && lf === cr + 1 ? end + 2 : end + 1;
    }
  }

  /** Some line in there is not UTF-8: only that one is to be lost. */
  #emitOneByOne(bytes: Uint8Array): void {
    let start = 0;
    while (start < bytes.length) {
      const end = findLineEnd(bytes, start);
      this.#emitLine(bytes.subarray(start, end));
      start = passLineEnd(bytes, end);
    }
  }
}

/** The index of the first line end, or the length if there is none. */
function findLineEnd(bytes: Uint8Array, from: number): number {
  let i = from;
  while (i < bytes.length && bytes[i] !== LF && bytes[i] !== CR) i++;
  return i;
}

/** The index after the line end at `end`: CRLF is one. */
function passLineEnd(bytes: Uint8Array, end: number): number {
  return bytes[end] === CR && bytes[end + 1] === LF ? end + 2 : end + 1;
}

/** The index after the last line end, or `from` if there is none. */
function findLastCut(bytes: Uint8Array, from: number): number {
  let cut = bytes.length;
  while (cut > from && bytes[cut - 1] !== LF && bytes[cut - 1] !== CR) cut--;
  return cut;
}
