/**
 * Splits bytes into lines, for both framings. A line ends with LF, CRLF or CR; a BOM at the start of the stream is
 * removed.
 *
 * Each chunk is cut at its last line end. The complete part is decoded in one call and split as text; the rest is
 * buffered. The buffer doubles when full, so a line that arrives byte by byte takes linear time and at most
 * twice its length in memory.
 *
 * State between chunks:
 *
 *   bom       number of BOM bytes seen at the start of the stream, or "past"
 *   afterCr   the last byte was CR, so an LF that follows does not end another line
 *   buffer    the unfinished line, or `dropping` if it is too long and is being discarded
 */
import { decodeLines, decodeUtf8 } from "./decode-utf8.ts";
import { resolveMaxLineBytes, type FramingFault, type FramingOptions } from "./frame.ts";

/** Receives the lines in order, each as one call of `line` or `fault`. */
export interface LineSink {
  /** Spaces and tabs at the start of a line may be dropped and do not count towards its length. Default: false. */
  readonly ignoresIndent?: boolean;
  line(text: string, number: number): void;
  fault(reason: LineFault, number: number, detail: string): void;
}

export type LineFault = Exclude<FramingFault, "unfinished_event">;

const LF = 0x0a;
const CR = 0x0d;
const SPACE = 0x20;
const TAB = 0x09;
const BOM = Uint8Array.of(0xef, 0xbb, 0xbf);
const PIECE_BYTES = 64 * 1024;
const NO_BYTES = new Uint8Array(0);

/** Splits chunks of bytes into lines of text. */
export class LineSplitter {
  readonly #sink: LineSink;
  readonly #maxLineBytes: number;
  readonly #pieceBytes: number;
  #number = 1;
  #bom: number | "past" = 0;
  #afterCr = false;
  #buffer: Uint8Array = NO_BYTES;
  #bufferedBytes = 0;
  #dropping = false;

  constructor(sink: LineSink, options: FramingOptions = {}) {
    this.#sink = sink;
    this.#maxLineBytes = resolveMaxLineBytes(options);
    // A piece is never longer than a line may be, so only a buffered line can exceed the limit. This also limits the
    // text that each line, as a slice of it, keeps in memory.
    this.#pieceBytes = Math.min(PIECE_BYTES, this.#maxLineBytes);
  }

  push(chunk: Uint8Array): void {
    let from = this.#bom === "past" ? 0 : this.#skipBom(chunk, this.#bom);
    for (; from < chunk.length; from += this.#pieceBytes) {
      this.#read(chunk.subarray(from, from + this.#pieceBytes));
    }
  }

  /** Ends the stream. A last line without a line end counts as a line. */
  end(): void {
    this.#giveUpBom();
    if (this.#bufferedBytes > 0 || this.#dropping) this.#finishBuffered();
    this.#afterCr = false;
  }

  /** Returns the start of the text in the chunk. A BOM may be split over several chunks, or turn out not to be one. */
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

  /** The bytes that looked like a BOM are text, or invalid UTF-8 that the line reports. */
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
    if (this.#bufferedBytes > 0 || this.#dropping) {
      const end = findLineEnd(piece, from);
      this.#keep(piece.subarray(from, end));
      if (end === piece.length) return;
      this.#finishBuffered();
      from = passLineEnd(piece, end);
    }
    const cut = findLastCut(piece, from);
    if (cut > from) this.#emitLines(piece.subarray(from, cut));
    if (cut < piece.length) this.#keep(piece.subarray(cut));
    else this.#afterCr = piece[cut - 1] === CR;
  }

  /** Adds to the unfinished line. Copies the bytes, because the caller may reuse its memory. */
  #keep(bytes: Uint8Array): void {
    if (this.#dropping) return;
    const isStart = this.#bufferedBytes === 0;
    const text = isStart && this.#sink.ignoresIndent === true ? bytes.subarray(findText(bytes)) : bytes;
    const size = this.#bufferedBytes + text.length;
    if (size > this.#maxLineBytes) {
      this.#startDropping();
      return;
    }
    if (size > this.#buffer.length) this.#grow(size);
    this.#buffer.set(text, this.#bufferedBytes);
    this.#bufferedBytes = size;
  }

  #startDropping(): void {
    this.#dropping = true;
    this.#bufferedBytes = 0;
    this.#buffer = NO_BYTES;
    this.#sink.fault("line_too_long", this.#number, `longer than ${this.#maxLineBytes} bytes`);
  }

  #grow(size: number): void {
    const grown = new Uint8Array(Math.min(this.#maxLineBytes, Math.max(size, 2 * this.#buffer.length, 1024)));
    grown.set(this.#buffer.subarray(0, this.#bufferedBytes));
    this.#buffer = grown;
  }

  #finishBuffered(): void {
    if (this.#dropping) {
      this.#dropping = false;
      this.#number++;
      return;
    }
    const line = this.#buffer.subarray(0, this.#bufferedBytes);
    this.#bufferedBytes = 0;
    // Release the memory of an unusually long line.
    if (this.#buffer.length > PIECE_BYTES) this.#buffer = NO_BYTES;
    this.#emitLine(line);
  }

  #emitLine(bytes: Uint8Array): void {
    const text = decodeUtf8(bytes);
    if (text === undefined) this.#sink.fault("invalid_utf8", this.#number++, "not valid UTF-8");
    else this.#sink.line(text, this.#number++);
  }

  /** `bytes` are complete lines, including the last line end. */
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
    // Search each kind of line end again only after passing it. Searching for both from every line start would be
    // quadratic if one of them is rare.
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

  /** Splits before decoding, because at least one line is not valid UTF-8 and only that line must be lost. */
  #emitOneByOne(bytes: Uint8Array): void {
    let start = 0;
    while (start < bytes.length) {
      const end = findLineEnd(bytes, start);
      this.#emitLine(bytes.subarray(start, end));
      start = passLineEnd(bytes, end);
    }
  }
}

/** Returns the index of the first byte that is not a space or tab, or the length if there is none. */
function findText(bytes: Uint8Array): number {
  let i = 0;
  while (i < bytes.length && (bytes[i] === SPACE || bytes[i] === TAB)) i++;
  return i;
}

/** Returns the index of the first line end, or the length if there is none. */
function findLineEnd(bytes: Uint8Array, from: number): number {
  let i = from;
  while (i < bytes.length && bytes[i] !== LF && bytes[i] !== CR) i++;
  return i;
}

/** Returns the index after the line end at `end`; CRLF counts as one. */
function passLineEnd(bytes: Uint8Array, end: number): number {
  return bytes[end] === CR && bytes[end + 1] === LF ? end + 2 : end + 1;
}

/** Returns the index after the last line end, or `from` if there is none. */
function findLastCut(bytes: Uint8Array, from: number): number {
  let cut = bytes.length;
  while (cut > from && bytes[cut - 1] !== LF && bytes[cut - 1] !== CR) cut--;
  return cut;
}
