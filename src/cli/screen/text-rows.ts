/**
 * Rows of styled text for a terminal. Text is cleaned here, and styles are added last, so that no text of a model or a
 * tool can contain an escape sequence.
 *
 * Invariant: no row is wider than the requested width, also in a terminal that shows the parts of an emoji apart.
 */
import { cleanText, measureColumns } from "../fit-text.ts";
import type { Style } from "../terminal.ts";

/** A piece of text in one style. */
export interface StyledText {
  readonly text: string;
  readonly style?: Style | undefined;
}

export type TextRow = readonly StyledText[];

/** Adds a style; returns the text unchanged where there are no colours. */
export type PaintText = (style: Style, text: string) => string;

const SEGMENTER = new Intl.Segmenter(undefined, { granularity: "grapheme" });
/** Punctuation that must not start a row. */
const CLOSING = /^[，。！？；：、）」』”》]$/u;
/** Terminals disagree about the width of a sequence, and of characters that a version of Unicode made wide or invisible. */
const UNCERTAIN =
  /..|[\u00AD\u115F\u1160\u2329\u232A\u2630-\u2637\u268A-\u268F\u3164\u3248-\u324F\uFE10-\uFE19\uFFA0\u{1D300}-\u{1D376}\u{1F1E6}-\u{1F1FF}]/su;
/** Printable ASCII needs no segmentation. */
const SIMPLE = /^[\x20-\x7E]*$/;

/** Splits text into what a reader sees as characters. */
export function splitGraphemes(text: string): readonly string[] {
  if (SIMPLE.test(text)) return text.split("");
  return Array.from(SEGMENTER.segment(text), ({ segment }) => segment);
}

/** Splits a row at a column into its start, in whose width all terminals agree, and the rest up to the column. */
export function splitAtColumn(row: string, column: number): { readonly start: number; readonly rest: string } {
  let [start, used, rest] = [0, 0, ""];
  for (const character of splitGraphemes(row)) {
    if (used >= column) break;
    used += measureColumns(character);
    if (rest === "" && !UNCERTAIN.test(character)) start = used;
    else rest += character;
  }
  return rest === "" ? { start: column, rest } : { start, rest };
}

export function paintRow(row: TextRow, paint: PaintText): string {
  return row.map(({ text, style }) => (style === undefined || text === "" ? text : paint(style, text))).join("");
}

export interface WrapOptions {
  readonly width: number;
  /** Starts the first row. */
  readonly first?: StyledText | undefined;
  /** Starts all other rows. */
  readonly rest?: StyledText | undefined;
}

/** Wraps text at spaces, or between any two characters where a word does not fit. Line breaks start a new row. */
export function wrapRows(pieces: readonly StyledText[], options: WrapOptions): readonly TextRow[] {
  const writer = new RowWriter(options);
  for (const { text, style } of pieces) {
    text.split("\n").forEach((line, index) => {
      if (index > 0) writer.breakRow();
      for (const word of cleanText(line).match(/ +|[^ ]+/g) ?? []) writer.addWord(word, style);
    });
  }
  return writer.finish();
}

class RowWriter {
  readonly #width: number;
  readonly #rest: StyledText | undefined;
  readonly #rows: StyledText[][] = [];
  #row: StyledText[] = [];
  #used = 0;
  #start = 0;
  /** Spaces before the next word; dropped at the end of a row. */
  #gap: StyledText | undefined;

  constructor({ width, first, rest }: WrapOptions) {
    this.#width = Math.max(2, width);
    this.#rest = rest;
    this.#open(first);
  }

  addWord(word: string, style: StyledText["style"]): void {
    if (word.startsWith(" ")) {
      this.#gap = { text: word, style };
      return;
    }
    const columns = measureColumns(word);
    const gap = this.#gap?.text.length ?? 0;
    const isNarrow = columns === word.length;
    const fits = this.#used + gap + columns <= this.#width;
    if (!fits && (this.#used + gap >= this.#width || (isNarrow && this.#used > this.#start))) this.breakRow();
    this.#addGap();
    if (this.#used + columns <= this.#width) this.#push(word, columns, style);
    else this.#addCharacters(word, style);
  }

  breakRow(): void {
    this.#gap = undefined;
    this.#rows.push(this.#row);
    this.#open(this.#rest);
  }

  finish(): readonly TextRow[] {
    return [...this.#rows, this.#row];
  }

  #addCharacters(word: string, style: StyledText["style"]): void {
    let part = "";
    let partColumns = 0;
    for (const character of splitGraphemes(word)) {
      const columns = measureColumns(character);
      if (this.#used + partColumns + columns > this.#width && this.#used + partColumns > this.#start) {
        const moved = this.#findMoved(part, character, columns);
        const movedColumns = measureColumns(moved);
        this.#push(part.slice(0, part.length - moved.length), partColumns - movedColumns, style);
        this.breakRow();
        [part, partColumns] = [moved, movedColumns];
      }
      part += character;
      partColumns += columns;
    }
    this.#push(part, partColumns, style);
  }

  /** Closing punctuation takes the character before it along into the next row. */
  #findMoved(part: string, character: string, columns: number): string {
    const last = CLOSING.test(character) ? (splitGraphemes(part).at(-1) ?? "") : "";
    const isAlone = part === last && this.#used === this.#start;
    const fits = measureColumns(this.#rest?.text ?? "") + measureColumns(last) + columns <= this.#width;
    return isAlone || !fits ? "" : last;
  }

  #addGap(): void {
    const gap = this.#gap;
    this.#gap = undefined;
    if (gap !== undefined) this.#push(gap.text, gap.text.length, gap.style);
  }

  #push(text: string, columns: number, style: StyledText["style"]): void {
    if (text === "") return;
    const last = this.#row.at(-1);
    if (last !== undefined && last.style === style) this.#row[this.#row.length - 1] = { text: last.text + text, style };
    else this.#row.push({ text, style });
    this.#used += columns;
  }

  #open(prefix: StyledText | undefined): void {
    this.#row = prefix === undefined ? [] : [prefix];
    this.#used = prefix === undefined ? 0 : measureColumns(prefix.text);
    this.#start = this.#used;
  }
}
