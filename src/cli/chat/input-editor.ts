/**
 * The text that the user is writing: characters, pasted blocks and the cursor. It does not know keys or the terminal.
 *
 * Invariants: the cursor is between two cells or at an end; a long paste is one cell, which is deleted as a whole and
 * sent with all of its text.
 */
import { cleanText, measureColumns, plural } from "../fit-text.ts";
import type { CursorPosition } from "../live-rows.ts";
import { splitGraphemes } from "../screen/text-rows.ts";

/** What the cursor moves over at once. */
interface InputCell {
  readonly text: string;
  /** Shown instead of the text. */
  readonly label?: string;
}

export interface InputLayout {
  /** Text without the line break, already cleaned. */
  readonly rows: readonly string[];
  readonly cursor: CursorPosition;
}

/** Pasted text with more lines or characters is shown as a label. */
const SHOWN_PASTE_LINES = 5;
const SHOWN_PASTE_CHARACTERS = 1000;

export class InputEditor {
  #cells: InputCell[] = [];
  #cursor = 0;
  #killed: readonly InputCell[] = [];

  get text(): string {
    return this.#cells.map(({ text }) => text).join("");
  }

  get isEmpty(): boolean {
    return this.#cells.length === 0;
  }

  /** Number of cells before the cursor. */
  get cursor(): number {
    return this.#cursor;
  }

  get length(): number {
    return this.#cells.length;
  }

  /** The text before the cursor. */
  get head(): string {
    return this.#textOf(0, this.#cursor);
  }

  /** Replaces everything and moves the cursor to the end. */
  set(text: string): void {
    this.#cells = [];
    this.#cursor = 0;
    if (isLong(text)) this.paste(text);
    else this.insert(text);
  }

  clear(): void {
    this.#cells = [];
    this.#cursor = 0;
  }

  insert(given: string): void {
    const text = normalizeBreaks(given);
    const before = this.#cells[this.#cursor - 1];
    // A combining mark joins the character before it.
    const isJoined = before !== undefined && before.label === undefined && before.text !== "\n";
    const from = isJoined ? this.#cursor - 1 : this.#cursor;
    const cells = splitGraphemes((isJoined ? before.text : "") + text).map((each) => ({ text: each }));
    this.#cells.splice(from, this.#cursor - from, ...cells);
    this.#cursor = from + cells.length;
  }

  paste(given: string): void {
    const text = normalizeBreaks(given);
    if (!isLong(text)) {
      this.insert(text);
      return;
    }
    const lines = text.split("\n").length;
    const label = `[pasted ${lines > 1 ? plural(lines, "line") : plural(text.length, "character")}]`;
    this.#cells.splice(this.#cursor, 0, { text, label });
    this.#cursor++;
  }

  backspace(): void {
    this.#remove(this.#cursor - 1, this.#cursor);
  }

  delete(): void {
    this.#remove(this.#cursor, this.#cursor + 1);
  }

  /** Moves the cursor by cells. */
  move(by: number): void {
    this.#cursor = Math.min(Math.max(this.#cursor + by, 0), this.#cells.length);
  }

  moveWord(direction: -1 | 1): void {
    this.#cursor = this.#findWord(direction);
  }

  moveToLineStart(): void {
    this.#cursor = this.#findLineStart();
  }

  moveToLineEnd(): void {
    this.#cursor = this.#findLineEnd();
  }

  /** Deletes up to the start of the word, and keeps it for `yank`. */
  killWord(direction: -1 | 1): void {
    const other = this.#findWord(direction);
    this.#kill(Math.min(other, this.#cursor), Math.max(other, this.#cursor));
  }

  killToLineStart(): void {
    this.#kill(this.#findLineStart(), this.#cursor);
  }

  /** At the end of a line, deletes the line break. */
  killToLineEnd(): void {
    const end = this.#findLineEnd();
    this.#kill(this.#cursor, end === this.#cursor ? end + 1 : end);
  }

  yank(): void {
    this.#cells.splice(this.#cursor, 0, ...this.#killed);
    this.#cursor += this.#killed.length;
  }

  /** Moves the cursor by one row of the layout. Returns false at the first or last row. */
  moveRow(direction: -1 | 1, width: number): boolean {
    const positions = this.#locateCells(width);
    const at = positions[this.#cursor];
    const row = (at?.row ?? 0) + direction;
    let best: number | undefined;
    positions.forEach((position, index) => {
      if (position.row === row && (best === undefined || position.column <= (at?.column ?? 0))) best = index;
    });
    if (best === undefined) return false;
    this.#cursor = best;
    return true;
  }

  /** Wraps the text into rows of at most `width` columns; the cursor may be one column further. */
  layOut(width: number): InputLayout {
    const positions = this.#locateCells(width);
    const rows: string[] = [""];
    this.#cells.forEach((cell, index) => {
      const row = positions[index]?.row ?? 0;
      if (cell.text === "\n") rows[row + 1] = "";
      else rows[row] = `${rows[row] ?? ""}${showCell(cell, width)}`;
    });
    return { rows, cursor: positions[this.#cursor] ?? { row: 0, column: 0 } };
  }

  /** The position before each cell, and after the last one. */
  #locateCells(width: number): readonly CursorPosition[] {
    const room = Math.max(2, width);
    let [row, column] = [0, 0];
    const positions: CursorPosition[] = [];
    for (const cell of this.#cells) {
      if (cell.text === "\n") {
        positions.push({ row, column });
        row++;
        column = 0;
        continue;
      }
      const columns = measureColumns(showCell(cell, width));
      if (column + columns > room && column > 0) {
        row++;
        column = 0;
      }
      positions.push({ row, column });
      column += columns;
    }
    positions.push({ row, column });
    return positions;
  }

  #textOf(from: number, to: number): string {
    return this.#cells
      .slice(from, to)
      .map(({ text }) => text)
      .join("");
  }

  #remove(from: number, to: number): void {
    const start = Math.max(from, 0);
    const removed = this.#cells.splice(start, Math.max(0, Math.min(to, this.#cells.length) - start));
    if (this.#cursor > start) this.#cursor -= Math.min(removed.length, this.#cursor - start);
  }

  #kill(from: number, to: number): void {
    const killed = this.#cells.slice(from, to);
    if (killed.length > 0) this.#killed = killed;
    this.#remove(from, to);
  }

  #findWord(direction: -1 | 1): number {
    const isWord = (index: number): boolean => /[\p{L}\p{N}_]/u.test(this.#cells[index]?.text ?? "");
    const next = (at: number): number => (direction === -1 ? at - 1 : at);
    const inside = (at: number): boolean => (direction === -1 ? at > 0 : at < this.#cells.length);
    let at = this.#cursor;
    while (inside(at) && !isWord(next(at))) at += direction;
    while (inside(at) && isWord(next(at))) at += direction;
    return at;
  }

  #findLineStart(): number {
    return this.#cells.findLastIndex(({ text }, index) => index < this.#cursor && text === "\n") + 1;
  }

  #findLineEnd(): number {
    const found = this.#cells.findIndex(({ text }, index) => index >= this.#cursor && text === "\n");
    return found === -1 ? this.#cells.length : found;
  }
}

function showCell({ text, label }: InputCell, width: number): string {
  return label === undefined ? cleanText(text) : label.slice(0, Math.max(2, width));
}

function isLong(text: string): boolean {
  return text.length > SHOWN_PASTE_CHARACTERS || text.split("\n").length > SHOWN_PASTE_LINES;
}

function normalizeBreaks(text: string): string {
  return text.replaceAll(/\r\n?/g, "\n");
}
